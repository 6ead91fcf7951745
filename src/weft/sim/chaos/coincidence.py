"""Coincidences: what happens shortly before or after something else, and is rare where all times are drawn alone.

Each seed draws which kinds it has. They come on top of a case (case.py), out of a generator of their own. Some are seen
only where nothing else is in their way: these have seeds of their own, without other faults (`SCENES`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random

from weft.sim.chaos.case import LEVELS, QUIET, SPAN, STRANGE, TROUBLES, Act, Case, plain
from weft.sim.chaos.variety import varied
from weft.wire.mqtt.topic import is_shared, split_shared

MASTER = "master"
OWN = "own"  # a name that only who is named for it subscribes to by name
UNNOTICED = 2  # of a crash: others hear of it late
STRANGER = 0.3  # of seeds without one, those with strange nodes
SCENIC = 0.3  # of all seeds, those with a scene


def drawn(seed: int) -> Case:
    """What happens in a run: a scene, or a mixture."""
    random = Random(f"scene of {seed}")
    if random.random() < SCENIC:
        return _scene(varied(plain(seed), Random(f"varieties of {seed}")), random)
    case = mixed(seed)
    case = case if random.random() < 0.5 else _faithful(case)
    return _with(case, [*_failing_disks(case, random), *_strange_nodes(case, Random(f"strange nodes of {seed}"))])


def mixed(seed: int) -> Case:
    """A case with coincidences of all kinds that its seed draws."""
    case, random = varied(plain(seed), Random(f"varieties of {seed}")), Random(f"coincidences of {seed}")
    kinds = [kind for kind in KINDS if random.random() < 0.4]
    more = [act for kind in kinds for act in kind(case, random) if 0 <= act.at <= SPAN]
    more += _vacancy(case, Random(f"vacancy of {seed}"))
    more += _returns(case, Random(f"returns of {seed}"))
    return _with(case, more)


def _scene(case: Case, random: Random) -> Case:
    """A case in which nothing fails but what belongs to one scene."""
    calm = replace(case, acts=tuple(act for act in case.acts if act.kind not in TROUBLES), tree=False)
    return _with(_faithful(calm), random.choice(SCENES)(calm, random))


def _faithful(case: Case) -> Case:
    """A case in which nobody unsubscribes: what somebody is owed while something fails is owed in the end."""
    return replace(case, acts=tuple(act for act in case.acts if act.kind != "unsubscribe"))


def _with(case: Case, more: Iterable[Act]) -> Case:
    first = 1 + max(act.number for act in case.acts)
    acts = [*case.acts, *(replace(act, number=first + place) for place, act in enumerate(more))]
    return replace(case, acts=tuple(sorted(acts, key=lambda act: act.at)))


def _echoes(case: Case, random: Random) -> Iterator[Act]:
    """Somebody publishes what has just been subscribed to, and has before; the master's news are slow to reach them."""
    for act in _some(case, random, lambda act: act.kind == "subscribe", 0.3):
        who, name = random.randrange(case.clients), _name_for(act.text, random)
        yield Act(0, act.at - random.uniform(0.5, 3.0), "publish", who, text=name, qos=1)
        yield Act(0, act.at + random.uniform(0.0, 0.7), "publish", who, text=name, qos=random.randint(1, 2))
        if _is_troubled(case) and random.random() < 0.7:
            way = f"{MASTER} n{who % case.nodes}"
            yield Act(
                0, act.at - random.uniform(0.0, 0.5), "delay", other=random.randrange(10**6), seconds=2.0, text=way
            )


def _company(case: Case, random: Random) -> Iterator[Act]:
    """Shared subscriptions have other members, who are away at times; somebody publishes what they wait for."""
    for act in _some(case, random, lambda act: act.kind == "subscribe" and is_shared(act.text), 0.8):
        for _ in range(random.randint(1, 2)):
            other, at = random.randrange(case.clients), act.at + random.uniform(0.0, 1.0)
            yield Act(0, at, "subscribe", other, text=act.text, qos=random.randint(1, 2))
            away = at + random.uniform(0.1, 4.0)
            yield Act(0, away, "vanish", other, seconds=random.uniform(0.5, 3.0), flag=random.random() < 0.7)
            publisher, name = random.randrange(case.clients), _name_for(act.text, random)
            yield Act(0, away + random.uniform(0.0, 0.5), "publish", publisher, text=name, qos=random.randint(1, 2))


def _crossfire(case: Case, random: Random) -> Iterator[Act]:
    """A link, or all of a node, is cut while a publication is on its way, whose node ends, and comes back at once."""
    if not _has(case, "cut", "crash", "part"):
        return
    for act in _some(case, random, lambda act: act.kind == "publish" and act.qos > 0, 0.05):
        node, seconds = act.who % case.nodes, random.uniform(0.1, 1.0)
        one, *others = random.sample(range(case.nodes), random.choice([2, case.nodes]))
        at = act.at - random.uniform(0.0, 4.0)
        for other in others:
            yield Act(0, at, "cut", seconds=5.0, text=f"n{one} n{other}", flag=True)
        yield Act(0, act.at + random.uniform(0.0, 2.0), "crash", node, 0, seconds, flag=random.random() < 0.5)


def _outages(case: Case, random: Random) -> Iterator[Act]:
    """A node loses its power when something has just come to it, from a client or another node."""
    if not _has(case, "crash", "slow_disk"):
        return
    for act in _some(case, random, lambda act: act.kind == "publish" and act.qos > 0, 0.05):
        at, node = act.at + random.uniform(0.0, 0.4), random.randrange(case.nodes)
        yield Act(0, at, "crash", node, random.randrange(3), random.uniform(0.1, 3.0), flag=True)
    for act in _some(case, random, lambda act: act.kind == "publish" and act.qos == 2 and act.who in case.kept, 0.2):
        at = act.at + random.uniform(0.0, case.sync)
        yield Act(0, at, "crash", act.who, 0, random.uniform(0.1, 1.0), flag=True)


def _homecomings(case: Case, random: Random) -> Iterator[Act]:
    """Clients of a node that goes are elsewhere for a while, and go home when it is back, or a little later."""
    for act in _some(case, random, lambda act: act.kind in ("crash", "leave", "cut", "part"), 0.7):
        node = act.who % case.nodes
        for client in range(node, case.clients, case.nodes):
            yield Act(0, act.at + random.uniform(0.0, 0.5), "move", client)
            yield Act(0, act.at + act.seconds + random.uniform(0.0, 1.0), "home", client)


def _splits(case: Case, random: Random) -> Iterator[Act]:
    """The nodes are in two parts, and the master reaches all of them. Somebody publishes when it has heard of it.

    The nodes of those who do not subscribe themselves end then, and are back when all are one again, some of them when
    everybody relies on tables again: what has gone through one part goes the same way once more, and further.
    """
    if not _is_troubled(case):
        return
    at, seconds, name = random.uniform(2.0, SPAN - 5.0), random.uniform(3.0, 8.0), OWN
    yield Act(0, at, "split", other=random.randrange(10**6), seconds=seconds)
    clients = random.sample(range(case.clients), min(6, case.clients))
    readers, writers = clients[::2], clients[1::2]
    for who in readers:
        yield Act(0, at - random.uniform(1.0, 2.0), "subscribe", who, text=name, qos=random.randint(1, 2))
    for who in clients:
        yield Act(0, at + random.uniform(3.0, 4.5), "publish", who, text=name, qos=random.randint(1, 2))
    for who in writers:
        late = random.uniform(4.6, 5.0)
        back = max(late, seconds) + random.uniform(0.5, 4.0)
        yield Act(0, at + late, "crash", who, 0, back - late)


def _relapses(case: Case, random: Random) -> Iterator[Act]:
    """A node is gone, and nobody has noticed. Somebody publishes what it wants, whose node ends too, and is back soon.

    Others have passed on by then what they are sent again, and wait for the node that is gone.
    """
    if not _is_troubled(case):
        return
    for act in _some(case, random, lambda act: _is_for_kept(case, act), 0.2):
        at, writer = act.at + random.uniform(1.0, 4.0), random.randrange(case.clients)
        name = _name_for(act.text, random)
        for who in random.sample(range(case.clients), 2):
            yield Act(0, at - random.uniform(0.5, 1.0), "subscribe", who, text=act.text, qos=random.randint(0, 2))
        yield Act(0, at, "crash", act.who % case.nodes, UNNOTICED, random.uniform(4.0, 6.0), flag=random.random() < 0.5)
        yield Act(0, at + random.uniform(0.05, 0.5), "publish", writer, text=name, qos=random.randint(1, 2))
        late, seconds = random.uniform(0.6, 1.0), random.uniform(0.05, 0.3)
        yield Act(0, at + late, "crash", writer % case.nodes, 0, seconds, flag=random.random() < 0.5)


def _absences(case: Case, random: Random) -> Iterator[Act]:
    """Something comes for a session whose client is away, and its node loses its power before the disk has it."""
    if not _has(case, "crash", "slow_disk"):
        return
    for act in _some(case, random, lambda act: _is_for_kept(case, act), 0.2):
        at, who = act.at + random.uniform(1.0, 4.0), random.randrange(case.clients)
        yield Act(0, at - random.uniform(0.1, 0.5), "vanish", act.who, seconds=random.uniform(1.0, 3.0))
        yield Act(0, at, "publish", who, text=_name_for(act.text, random), qos=random.randint(1, 2))
        seconds, late = random.uniform(0.1, 1.0), random.uniform(0.002, 0.002 + case.sync)
        yield Act(0, at + late, "crash", act.who % case.nodes, 0, seconds, flag=True)


def _losses(case: Case, random: Random) -> Iterator[Act]:
    """A node loses its disk while what a client has published there, and others wait for, is slow to leave it."""
    if not (case.tree and _is_troubled(case)):
        return
    for act in _some(case, random, lambda act: act.kind == "subscribe" and act.qos > 0, 0.1):
        who, at = random.randrange(case.clients), act.at + random.uniform(0.5, 3.0)
        for other in range(case.nodes):
            way, slow = f"n{who % case.nodes} n{other}", random.randrange(10**6)
            yield Act(0, at - random.uniform(0.0, 0.1), "delay", other=slow, seconds=2.0, text=way)
        yield Act(0, at, "publish", who, text=_name_for(act.text, random), qos=random.randint(1, 2))
        late, seconds = random.uniform(0.0, 2 * case.sync + 0.1), random.uniform(0.1, 3.0)
        yield Act(0, at + late, "wipe", who, seconds=seconds)


def _vacancy(case: Case, random: Random) -> list[Act]:
    """The master is gone for long, in some of the cases in which nothing else fails.

    Clients subscribe to what others hold by then, and those who have published it before do so again.
    """
    if case.faults or random.random() < 0.6:
        return []
    gone, seconds = random.uniform(4.0, 9.0), random.uniform(8.0, 10.0)
    acts = [Act(0, gone, "crash_master", other=random.randrange(2), seconds=seconds)]
    for act in _some(case, random, lambda act: act.kind == "subscribe" and act.at < gone - 1.0, 0.7):
        acts.append(
            Act(0, gone + random.uniform(-0.1, 1.0), "subscribe", random.randrange(case.clients), text=act.text)
        )
        for _ in range(4):
            who, name = random.randrange(case.clients), _name_for(act.text, random)
            acts.append(Act(0, gone - random.uniform(0.1, 1.0), "publish", who, text=name, qos=random.randint(0, 2)))
            at = gone + random.uniform(4.0, seconds - 2.0)
            acts.append(Act(0, at, "publish", who, text=name, qos=random.randint(0, 2)))
    return acts


def _failing_disks(case: Case, random: Random) -> Iterator[Act]:
    """A disk reports an error when it is to sync, soon after a client of its node has published, and for a while."""
    if not _is_troubled(case) or random.random() < 0.8:
        return
    for act in _some(case, random, lambda act: act.kind == "publish" and act.qos > 0, 0.04):
        yield Act(0, act.at - random.uniform(0.0, case.sync), "fail_disk", act.who, seconds=random.uniform(0.3, 4.0))


def _returns(case: Case, random: Random) -> Iterator[Act]:
    """A client gets something elsewhere while its node is down, which is owed it too, and goes home when that is back.

    What the master says of that is slow to reach the others: so they are slow to hear that the session has gone.
    """
    if not _is_troubled(case) or random.random() < 0.3:
        return
    for who in sorted(case.kept):
        if random.random() < 0.5:
            continue
        home, name, at = who % case.nodes, random.choice(LEVELS), random.uniform(1.0, 10.0)
        seconds = random.uniform(4.5, 8.0)
        yield Act(0, at - random.uniform(0.5, 1.0), "subscribe", who, text=name, qos=2)
        yield Act(0, at, "crash", home, 0, seconds)
        yield Act(0, at + random.uniform(3.0, 3.5), "move", who)
        yield Act(0, at + random.uniform(4.0, seconds), "publish", random.randrange(case.clients), text=name, qos=2)
        for other in range(case.nodes):
            way, slow = f"{MASTER} n{other}", random.randrange(10**6)
            if other != home and random.random() < 0.7:
                yield Act(0, at + seconds - 0.1, "delay", other=slow, seconds=random.uniform(2.0, 3.0), text=way)
        yield Act(0, at + seconds + random.uniform(0.2, 1.2), "home", who)


def _heirs(case: Case, random: Random) -> Iterator[Act]:
    """Members of a shared subscription at one node are all away; some come back elsewhere, and what waits for them."""
    homes = [[who for who in sorted(case.kept) if who % case.nodes == home] for home in range(case.nodes)]
    groups = [group for group in homes if len(group) > 1]
    if not groups:
        return
    members, at, name = random.choice(groups), random.uniform(2.0, 14.0), _own(random)
    for who in members:
        yield Act(0, at, "subscribe", who, text=f"$share/heirs/{name}", qos=random.randint(1, 2))
        yield Act(0, at + 1.0, "vanish", who, seconds=random.uniform(2.0, 5.0), flag=random.random() < 0.5)
    yield from _publications(case, random, name, at + 1.5, at + 2.5, 3)


def _repetitions(case: Case, random: Random) -> Iterator[Act]:
    """A node that others lost sight of misses something, whose issuer ends, and says it again when all are back.

    The master sees all of them. What others have passed on to the rest of the tree they are to pass on once more.
    """
    if case.nodes < 3:
        return
    at, seconds, name = random.uniform(2.0, 9.0), random.uniform(7.0, 9.0), _own(random)
    writer, unseen, *others = random.sample(range(min(case.nodes, case.clients)), 3)
    for who in (unseen, *others):
        yield Act(0, at - random.uniform(1.0, 1.5), "subscribe", who, text=name, qos=2)
    for other in range(case.nodes):
        if other != unseen:
            yield Act(0, at, "cut", seconds=seconds, text=f"n{unseen} n{other}", flag=True)
    said = random.uniform(3.0, 4.0)
    ends = said + random.uniform(0.5, 3.0)
    yield Act(0, at - random.uniform(0.1, 0.5), "publish", writer, text=name, qos=1)
    yield Act(0, at + said, "publish", writer, text=name, qos=random.randint(1, 2))
    yield Act(0, at + ends, "crash", writer, 0, seconds - ends + random.uniform(2.5, 5.0))


def _handovers(case: Case, random: Random) -> Iterator[Act]:
    """Clients come back elsewhere for what waits for them, and their node ends while it gives that away slowly."""
    for who in sorted(case.kept):
        at, name, seconds = random.uniform(1.5, 12.0), _own(random), random.uniform(1.5, 3.0)
        yield Act(0, at, "subscribe", who, text=name, qos=2)
        yield Act(0, at + 1.0, "vanish", who, seconds=seconds, flag=True)
        yield from _publications(case, random, name, at + 1.2, at + 1.0 + seconds, 3)
        back = at + 1.0 + seconds
        for node in range(case.nodes):
            if node != who % case.nodes:
                yield Act(0, back - 0.1, "slow_disk", node, random.randrange(10**6), seconds=3.0)
        late = random.uniform(0.2, 2.5)
        yield Act(0, back + late, "crash", who, 0, random.uniform(0.3, 3.0), flag=random.random() < 0.7)


def _wanderings(case: Case, random: Random) -> Iterator[Act]:
    """Clients go from node to node, away for a while each time, and nodes that have something for them are down."""
    others = random.sample(range(case.nodes), case.nodes)
    for who in sorted(case.kept):
        at, name = random.uniform(1.5, 6.0), _own(random)
        yield Act(0, at, "subscribe", who, text=name, qos=2)
        for step, node in enumerate((who % case.nodes, *others[:2])):
            gone = at + 1.0 + 4.0 * step
            yield Act(0, gone, "vanish", who, seconds=2.0, flag=True)
            yield from _publications(case, random, name, gone + 0.2, gone + 1.0, 2)
            yield Act(0, gone + 1.5, "crash", node, 0, random.uniform(5.0, 9.0), flag=random.random() < 0.3)


def _blackouts(case: Case, random: Random) -> Iterator[Act]:
    """All nodes lose their power within a second, while disks are slow and much comes in."""
    at, name = random.uniform(3.0, 14.0), _own(random)
    for who in range(case.clients):
        if random.random() < 0.5:
            yield Act(0, at - random.uniform(1.0, 2.0), "subscribe", who, text=name, qos=random.randint(1, 2))
    yield from _publications(case, random, name, at, at + 1.5, 15)
    for node in range(case.nodes):
        yield Act(0, at - 0.1, "slow_disk", node, random.randrange(10**6), seconds=3.0)
        dark = at + random.uniform(0.5, 1.5)
        yield Act(0, dark, "crash", node, random.randrange(3), random.uniform(0.3, 3.0), flag=True)


def _strange_nodes(case: Case, random: Random) -> Iterator[Act]:
    """A node stands still for a while, and others join that answer and do nothing, or say what nobody would."""
    if random.random() < STRANGER:
        for kind in random.sample(STRANGE, random.randint(1, 2)):
            who, seed = random.randrange(case.nodes), random.randrange(10**6)
            seconds = random.choice([random.uniform(0.2, 3.0), random.uniform(2.0, 15.0)])
            yield Act(0, random.uniform(0.0, SPAN - 5.0), kind, who, seed, seconds)


KINDS = (_echoes, _company, _crossfire, _outages, _homecomings, _splits, _relapses, _absences, _losses)
SCENES = (_heirs, _repetitions, _handovers, _wanderings, _blackouts, _repetitions)  # one twice: it seldom comes off


def _publications(case: Case, random: Random, name: str, start: float, end: float, count: int) -> list[Act]:
    """What clients publish within a time."""
    times = [random.uniform(start, end) for _ in range(count)]
    return [Act(0, at, "publish", random.randrange(case.clients), text=name, qos=random.randint(1, 2)) for at in times]


def _own(random: Random) -> str:
    """A name that hardly anybody else subscribes to."""
    return "/".join([OWN, random.choice(LEVELS), random.choice(LEVELS)])


def _some(case: Case, random: Random, such: Callable[[Act], bool], share: float) -> list[Act]:
    return [act for act in case.acts if such(act) and random.random() < share]


def _is_for_kept(case: Case, act: Act) -> bool:
    """Whether it is a subscription of a session that is kept."""
    return act.kind == "subscribe" and act.qos > 0 and act.who in case.kept and not is_shared(act.text)


def _has(case: Case, *kinds: str) -> bool:
    return any(act.kind in kinds for act in case.acts)


def _is_troubled(case: Case) -> bool:
    return any(act.kind not in QUIET for act in case.faults)


def _name_for(pattern: str, random: Random) -> str:
    """A name that a filter matches."""
    parts = split_shared(pattern) if is_shared(pattern) else None
    levels = (parts[1] if parts is not None else pattern).removesuffix("/#").split("/")
    return "/".join(random.choice(LEVELS) if level == "+" else level for level in levels)
