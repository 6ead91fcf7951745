"""Cases: what happens in a run, drawn from its seed before it begins.

An act has its time and all its choices, and does nothing where it makes no sense when its time comes (the client is not
connected, the node is down already). So acts can be left out one by one, and what is left means the same: a case that
fails can be made smaller (minimise.py).

Each seed draws which kinds of trouble there are in it, and none is one draw of them: faults alone, together, and what
must hold while nothing fails (swarm testing: Groce et al., ISSTA 2012).
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from weft.node.parameters import Parameters

LEVELS = ["a", "b", "c"]
WILD = ["+", "a", "b"]
SPAN = 20.0  # seconds in which things happen

# What may go wrong, and how often a run has it if it has it at all.
FAULTS = {
    "crash": 3,  # of a node, with its power or without
    "crash_master": 2,
    "cut": 2,  # the way between two places, in one direction or both
    "part": 2,  # places in two sides
    "delay": 2,  # a way is slow
    "fill_disk": 1,
    "slow_disk": 2,
    "leave": 2,  # a node stops in order, and comes back
    "join": 1,  # a node more
    "redesign": 1,
    "move": 4,  # a client goes to another node
    "vanish": 3,  # a client is gone without a word, and comes back
    "skew": 2,  # a node's clock jumps
    "wipe": 1,  # a node crashes, and gets an empty disk
}
STRANGE = ("hang", "mute", "boast")  # a node that stands still for a while; others, that say nothing, or too much
# With those of coincidence.py and variety.py.
TROUBLES = frozenset({*FAULTS, *STRANGE, "home", "split", "renew", "fail_disk"})
OF_CLIENTS = frozenset({"subscribe", "publish", "unsubscribe", "move", "vanish", "home", "renew"})
QUIET = frozenset({"leave", "join", "redesign", "move", "vanish", "home", "renew"})  # nothing fails by these


class Manner(StrEnum):
    """How a client goes."""

    CLOSED = ""  # its connection is closed, without a word
    ORDERLY = "in order"  # DISCONNECT
    SILENT = "in silence"  # nobody hears of it: its node has a connection that nobody is at


@dataclass(frozen=True, slots=True)
class Act:
    number: int
    at: float  # seconds since the network was ready
    kind: str
    who: int = 0  # a client or a node
    other: int = 0
    seconds: float = 0.0  # how long a fault lasts; of a publication, until it expires, if it does
    text: str = ""  # a filter or a name; of a cut or a delay two places, or any; how a client goes
    qos: int = 0  # of a part: sides above two
    flag: bool = False

    def __str__(self) -> str:
        told = [f"{self.at:6.3f} s", self.kind, str(self.who)]
        told += [f"with {self.other}"] if self.kind in ("cut", "delay", "move", "part", "split") else []
        told += [self.text] if self.text else []
        told += [f"QoS {self.qos}"] if self.kind in ("subscribe", "publish") else []
        told += [f"for {self.seconds:.1f} s"] if self.seconds else []
        return " ".join(told)


@dataclass(frozen=True, slots=True)
class Case:
    seed: int
    nodes: int
    clients: int
    kept: frozenset[int]  # clients whose sessions are kept
    tree: bool  # acknowledge = tree
    ahead: tuple[float, ...]  # seconds that nodes' clocks are ahead at first
    sync: float  # seconds that disks take to sync
    acts: tuple[Act, ...]
    wills: tuple[tuple[int, str, int], ...] = ()  # clients that have one, its name and QoS
    keep_alives: tuple[int, ...] = ()  # by client, in seconds; 0 is none
    identifiers: tuple[int | None, ...] = ()  # by client: the packet identifier before its first; None: the lowest free
    window: int = Parameters().window  # publications under way until publishers wait

    @property
    def faults(self) -> list[Act]:
        return [act for act in self.acts if act.kind in TROUBLES]


def plain(seed: int) -> Case:
    """A case without coincidences."""
    random = Random(seed)
    nodes, clients = random.randint(2, 6), random.randint(3, 10)
    kinds = [kind for kind in FAULTS if random.random() < 0.3] if random.random() < 0.85 else []
    tree = "wipe" in kinds or random.random() < 0.15
    ahead = tuple(random.choice([0.0, random.uniform(-3600, 3600)]) * ("skew" in kinds) for _ in range(nodes))
    drawing = _Drawing(random, nodes, clients)
    acts = [drawing.ordinary() for _ in range(random.randint(60, 200))]
    acts += [drawing.fault(kind) for kind in kinds for _ in range(random.randint(1, FAULTS[kind]))]
    kept = frozenset(one for one in range(clients) if random.random() < 0.5)
    sync = random.choice([0.001, 0.01, 0.1, 0.3])
    return Case(seed, nodes, clients, kept, tree, ahead, sync, tuple(sorted(acts, key=lambda act: act.at)))


class _Drawing:
    def __init__(self, random: Random, nodes: int, clients: int) -> None:
        self._random = random
        self._nodes = nodes
        self._clients = clients
        self._number = 0
        self._published: list[Act] = []

    def ordinary(self) -> Act:
        """What clients do."""
        random = self._random
        kind = random.choice(["subscribe", "publish", "publish", "publish", "unsubscribe"])
        text = self._filter() if kind == "subscribe" else self._name() if kind == "publish" else ""
        act = self._act(
            kind, random.randrange(self._clients), text=text, qos=random.randint(0, 2), flag=random.random() < 0.1
        )
        if kind == "publish":
            self._published.append(act)
        return act

    def fault(self, kind: str) -> Act:
        random = self._random
        is_of_client = kind in ("move", "vanish")
        who = random.randrange(self._clients if is_of_client else self._nodes)
        lasting = kind not in ("move", "join", "redesign", "skew")
        seconds = random.choice([random.uniform(0.05, 1.0), random.uniform(0.5, 6.0), random.uniform(3.0, 12.0)])
        act = self._act(kind, who, random.randrange(10**6), seconds * lasting, flag=random.random() < 0.5)
        return self._aimed(act) if kind in ("crash", "wipe") and random.random() < 0.7 else act

    def _aimed(self, act: Act) -> Act:
        """The node of a client that has just published: where that is then, if the client has not moved."""
        random = self._random
        target = random.choice(self._published)
        return replace(act, at=target.at + random.uniform(0.0, 0.05), who=target.who % self._nodes)

    def _act(self, kind: str, who: int, other: int = 0, seconds: float = 0.0, **rest: object) -> Act:
        self._number += 1
        return Act(self._number, self._random.uniform(0.0, SPAN), kind, who, other, seconds, **rest)  # type: ignore[arg-type]

    def _name(self) -> str:
        return "/".join(self._random.choice(LEVELS) for _ in range(self._random.randint(1, 2)))

    def _filter(self) -> str:
        drawn = self._random.random()
        if drawn < 0.6:
            return self._name()
        wild = "/".join(self._random.choice(WILD) for _ in range(self._random.randint(1, 2)))
        wild += self._random.choice(["", "/#"])
        return wild if drawn < 0.9 else f"$share/g{self._random.randint(0, 1)}/{wild}"
