"""A case played: its acts at their times, on a network under virtual time, and a verdict at the end.

Faults end by themselves, each after its time. When the last has, everybody comes back, and the network must heal:
clients are connected, all nodes run, nothing is owed any more, no graft is left, all nodes have the same retained
messages. Then the oracle judges the whole history (sim/cluster/oracle.py).
"""

import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from random import Random

from weft.broker.broker import Broker
from weft.node.node import Node
from weft.node.parameters import Parameters
from weft.sim.chaos.case import QUIET, SPAN, TROUBLES, Act, Case, Manner
from weft.sim.chaos.verdict import Verdict
from weft.sim.cluster.client import Client
from weft.sim.cluster.cluster import Cluster
from weft.sim.cluster.oracle import Terms, problems
from weft.sim.cluster.process import NodeProcess
from weft.sim.cluster.wire import Weather
from weft.wire.mqtt.packet import Version, Will

LOOK = 0.25  # seconds between looks whether clients are to come back
SUPERVISION = 1.0  # seconds until a process that has given up is started again, as systemd does (deploy/)
GRACE = 2.0  # seconds until the master has missed a node
HEALING = 30.0  # seconds after the last fault
ROOM = 400  # bytes that a disk has left when it fills up
MASTER = "master"
WEATHER = Weather(parted=0.2, apart=2.0)
OF_NODES = frozenset({"leave", "join", "redesign"})  # trees change by these; nothing fails


def play(case: Case) -> Verdict:
    """What a run of a case comes to; an exception in it is a finding like any other."""
    stage = Stage(case)
    try:
        stage.play()
        found = stage.judge()
    except Exception:
        found = [traceback.format_exc().strip()]
    return Verdict(case.seed, tuple(found), stage.tried(), tuple(stage.story()))


class Stage:
    def __init__(self, case: Case) -> None:
        self.case = case
        network = Parameters(acknowledge="tree" if case.tree else "disk", window=case.window)
        self.world = Cluster(case.nodes, case.seed, network=network, weather=WEATHER, sync_seconds=case.sync)
        self._random = Random(case.seed)
        self._troubles: list[tuple[float, float]] = []
        self._headless: list[tuple[float, float]] = []  # of these, when the master was gone
        self._until = 0.0  # when the last fault ends
        self._back: dict[Client, tuple[float, bool]] = {}  # who is away: when it comes back, and whether elsewhere
        self._done: list[tuple[float, Act]] = []
        self._begun = 0.0
        self._wills = {who: (name, qos) for who, name, qos in case.wills}
        self._willed = count(1)

    def play(self) -> None:
        world = self.world
        for node, ahead in zip(world.nodes, self.case.ahead, strict=True):
            node.clock = ahead
        world.start()
        for number in range(self.case.clients):
            self._enter(number)
        world.wait(1.0)
        self._begun = world.agenda.now
        for act in self.case.acts:
            world.agenda.at(self._begun + act.at, lambda act=act: self._do(act))  # type: ignore[misc]
        self._look_after()
        world.wait(SPAN)
        world.wait(max(0.0, self._until - world.agenda.now))
        self._heal()

    def judge(self) -> list[str]:
        found = problems(self.world.clients, self._terms())
        found += [f"{node.name} does not run." for node in self.world.nodes if node.node is None]
        found += [f"{node.name} still owes {owed}." for node in self.world.nodes if (owed := _owed_by(node))]
        found += [
            f"{node.name} still has grafts." for node in self.world.nodes if node.node and len(node.node.grafting)
        ]
        found += self._differences()
        found += self._silences()
        found += self.world.defects
        self.world.check_invariants()
        return found

    def tried(self) -> Counter[str]:
        tried = Counter(act.kind for _, act in self._done if act.kind in TROUBLES)
        clients = self.world.clients
        tried["publications"] = sum(len(client.said) for client in clients)
        tried["acknowledged"] = sum(one.acknowledged is not None for client in clients for one in client.said)
        tried["deliveries"] = sum(len(client.got) for client in clients)
        return tried

    def story(self) -> list[str]:
        """What happened, in order."""
        acts = [(at, str(act)) for at, act in self._done]
        notes = [(at, f"{who}: {what}") for at, who, what in self.world.story]
        for client in self.world.clients:
            acts += [(held.granted, f"{client.name} is granted {held.filter}") for held in client.held if held.granted]
            notes += [
                (got.at, f"{client.name} gets {got.payload!r} on {got.topic}, QoS {got.qos}") for got in client.got
            ]
        return [f"{at - self._begun:8.3f} s  {what}" for at, what in sorted([*acts, *notes], key=lambda one: one[0])]

    # What clients do

    def _enter(self, number: int) -> None:
        version = self._random.choice([Version.V311, Version.V5])
        client = self.world.client(f"c{number}", version=version, clean=number not in self.case.kept)
        if self.case.identifiers:
            client.last_id = self.case.identifiers[number]
            client.keep_alive = self.case.keep_alives[number]
        self._connect(client, self.world.nodes[number % len(self.world.nodes)])

    def _connect(self, client: Client, node: NodeProcess) -> None:
        """Connect with a will that can be told from those before, where the client has one."""
        name, qos = self._wills.get(self.world.clients.index(client), ("", 0))
        if name:
            client.will = Will(name, b"will %d" % next(self._willed), qos)
        client.connect(node)

    def _subscribe(self, act: Act) -> None:
        client = self.world.clients[act.who]
        if client.is_connected and not any(held.filter == act.text and not held.gone for held in client.held):
            client.subscribe(act.text, act.qos)

    def _unsubscribe(self, act: Act) -> None:
        client = self.world.clients[act.who]
        held = [one for one in client.held if one.granted and not one.dropped]
        if client.is_connected and held:
            client.unsubscribe(held[act.number % len(held)].filter)

    def _publish(self, act: Act) -> None:
        client = self.world.clients[act.who]
        if client.is_connected:
            life = {"message_expiry_interval": int(act.seconds)} if act.seconds and client.version is Version.V5 else {}
            client.publish(act.text, b"%d" % act.number, act.qos, act.flag, **life)

    def _move(self, act: Act) -> None:
        client = self.world.clients[act.who]
        self._back[client] = self.world.agenda.now, True
        self._go(client, act)

    def _go(self, client: Client, act: Act) -> None:
        {Manner.CLOSED: client.drop, Manner.ORDERLY: client.disconnect, Manner.SILENT: client.vanish}[
            Manner(act.text)
        ]()

    def _home(self, act: Act) -> None:
        """Go to the first node again."""
        client, home = self.world.clients[act.who], self._node(act.who % self.case.nodes)
        if home.is_running:
            self._connect(client, home)

    def _vanish(self, act: Act) -> None:
        client = self.world.clients[act.who]
        self._go(client, act)
        self._back[client] = self.world.agenda.now + act.seconds, act.flag

    def _renew(self, act: Act) -> None:
        client = self.world.clients[act.who]
        if client.is_connected and client.version is Version.V5:
            client.renew()
            client.drop()
            self._back[client] = self.world.agenda.now, act.flag

    def _look_after(self) -> None:
        """Clients that are not connected come back: most to where they were, some elsewhere. Who waits looks around."""
        now = self.world.agenda.now
        for node in self.world.nodes:
            if node.refused and not node.is_running:  # by the master, which lost sight of others: it is started again
                node.refused = ""
                self.world.agenda.after(SUPERVISION, lambda node=node: self._start(node))  # type: ignore[misc]
        for client in self.world.clients:
            if client.is_connected or client.is_connecting:
                self._back.pop(client, None)
                if client.is_connecting:
                    client.look_for_session()
            elif client not in self._back:
                self._back[client] = now + self._random.choice([0.0, 1.0, 3.0]), self._random.random() < 0.3
            elif self._back[client][0] <= now:
                self._return(client, self._back.pop(client)[1])
        self.world.agenda.after(LOOK, self._look_after)

    def _return(self, client: Client, elsewhere: bool) -> None:
        running = [one for one in self.world.nodes if one.is_running]
        if elsewhere and running:
            self._connect(client, self._random.choice(running))
        elif client.process is not None and client.process.is_running:
            self._connect(client, client.process)

    # What fails

    def _crash(self, act: Act) -> None:
        node = self._node(act.who)
        if node.is_running:
            node.crash(power=act.flag, notice=(0.0, 0.5, 3.0)[act.other % 3])
            self._later(act, lambda: self._start(node))

    def _wipe(self, act: Act) -> None:
        """One at a time, and while the others are there: what only this disk has is gone."""
        node = self._node(act.who)
        if node.node is None or _keeps_for_others(node.node):
            return
        if all(one.is_running for one in self.world.nodes):
            for client in self.world.clients:
                if client.process is node or self._has_part(node.node, client):
                    client.lose()
            node.crash()
            node.wipe()
            self._later(act, lambda: self._start(node))

    def _has_part(self, node: Node, client: Client) -> bool:
        """Whether a node has a session, or what nobody has taken of it."""
        master = self.world.direction.master
        known = master.network.directory.sessions.get(client.name) if master is not None else None
        return node.broker.session(client.name) is not None or (known is not None and node.number in known.rest)

    def _crash_master(self, act: Act) -> None:
        direction = self.world.direction
        if direction.master is not None:
            direction.crash(notice=(0.0, 3.0)[act.other % 2])
            self._later(act, lambda: direction.start() if direction.master is None else None)
            self._headless.append(self._troubles[-1])

    def _cut(self, act: Act) -> None:
        one, other = self._way(act)
        if act.flag:
            self._later(act, self.world.part([one], [other]))
            return
        self.world.wires.cut(one, other)
        self._later(act, lambda: self.world.wires.mend(one, other))

    def _part(self, act: Act) -> None:
        self._part_at_random(act, self._places())

    def _split(self, act: Act) -> None:
        self._part_at_random(act, self._places()[:-1])

    def _part_at_random(self, act: Act, names: list[str]) -> None:
        random = Random(act.other)
        random.shuffle(names)
        middles = sorted({random.randint(1, len(names) - 1) for _ in range(1 + act.qos)})
        sides = [names[start:end] for start, end in pairwise([0, *middles, len(names)])]
        self._later(act, self.world.part(*sides))

    def _delay(self, act: Act) -> None:
        way, delays = self._way(act), self.world.wires.delays
        delays[way] = Random(act.other).uniform(0.02, 2.5)
        self._later(act, lambda: delays.pop(way, None))

    def _fill_disk(self, act: Act) -> None:
        node = self._node(act.who)
        node.disk.capacity = node.disk.used + ROOM
        self._later(act, lambda: setattr(node.disk, "capacity", None))

    def _fail_disk(self, act: Act) -> None:
        """The node ends with the next sync, and cannot start before the disk works again."""
        node = self._node(act.who)
        node.disk.failing_syncs = True

        def mend() -> None:
            node.disk.failing_syncs = False
            self._start(node)

        self._later(act, mend)

    def _slow_disk(self, act: Act) -> None:
        node = self._node(act.who)
        node.sync_seconds = Random(act.other).uniform(0.05, 2.0)
        self._later(act, lambda: setattr(node, "sync_seconds", self.case.sync))

    def _skew(self, act: Act) -> None:
        self._node(act.who).clock += Random(act.other).uniform(0.0, 600.0)
        self._later(act, lambda: None)

    def _hang(self, act: Act) -> None:
        self._node(act.who).hang(act.seconds)
        self._later(act, lambda: None)

    def _mute(self, act: Act) -> None:
        self._invite(act, boasts=False)

    def _boast(self, act: Act) -> None:
        self._invite(act, boasts=True)

    def _invite(self, act: Act, boasts: bool) -> None:
        """A strange node joins, until its certificate is revoked; it is forgotten then, and nothing is owed to it."""
        world = self.world
        strange = world.invite(boasts, Random(act.other))

        def forget() -> None:
            world.direction.ask("leave", node=strange.name, forget=True)

        def put_out() -> None:
            strange.stop()
            world.agenda.after(GRACE, forget)

        self._later(act, put_out)

    def _leave(self, act: Act) -> None:
        node = self._node(act.who)
        if node.is_running:
            starts = node.starts
            node.stop()
            self._later(act, lambda: self._return_to_work(node, starts))

    def _return_to_work(self, node: NodeProcess, starts: int) -> None:
        """A node that stops takes its time, if others do not take what it owes them."""
        if node.is_running and node.starts == starts:
            self.world.agenda.after(LOOK, lambda: self._return_to_work(node, starts))
        else:
            self._start(node)

    def _join(self, act: Act) -> None:
        self.world.add().start()

    def _redesign(self, act: Act) -> None:
        direction = self.world.direction
        if direction.master is None:
            return
        ticket = direction.ask("redesign")

        def accept() -> None:
            proposal = direction.replies.get(ticket, {}).get("proposal")
            if proposal is not None and direction.master is not None:
                direction.ask("redesign", proposal=proposal)

        self.world.agenda.after(0.5, accept)

    def _do(self, act: Act) -> None:
        self._done.append((self.world.agenda.now, act))
        getattr(self, f"_{act.kind}")(act)

    def _later(self, act: Act, mend: Callable[[], object]) -> None:
        """The fault lasts for its time."""
        now = self.world.agenda.now
        self._until = max(self._until, now + act.seconds)
        if act.kind not in QUIET:
            self._troubles.append((now, now + act.seconds))
        self.world.agenda.after(act.seconds, mend)  # type: ignore[arg-type]

    def _start(self, node: NodeProcess) -> None:
        if not node.is_running and not node.disk.failing_syncs:
            node.start()

    def _node(self, number: int) -> NodeProcess:
        return self.world.nodes[number % len(self.world.nodes)]

    def _places(self) -> list[str]:
        return [*(one.name for one in self.world.nodes), MASTER]

    def _way(self, act: Act) -> tuple[str, str]:
        """The way between two nodes, a node and the master, or a client and its node."""
        if act.text:
            one, other = act.text.split()
            return one, other
        random = Random(act.other)
        if random.random() < 0.25:
            client = random.choice(self.world.clients)
            if client.process is not None:
                return client.name, client.process.name
        one, other = random.sample(self._places(), 2)
        return one, other

    # The end

    def _heal(self) -> None:
        world = self.world
        for node in world.nodes:
            self._start(node)
        if world.direction.master is None:
            world.direction.start()
        world.wait(HEALING)
        world.wait_until(lambda: all(client.is_connected for client in world.clients), 30.0)
        world.settle(60.0)
        world.wait(5.0)

    def _terms(self) -> Terms:
        nodes = [at for at, act in self._done if act.kind in OF_NODES]
        headless = [one for one in self._headless if not any(at <= one[1] for at in nodes)]
        stopped = any(act.kind == "leave" for _, act in self._done)
        return Terms(tuple(self._troubles), headless=tuple(headless), wills=not stopped, apart=any(self.case.ahead))

    def _silences(self) -> list[str]:
        """Clients that a node has closed for a silence that was its own."""
        shortest = min((one for one in self.case.keep_alives if one), default=0)
        return [
            f"{node} closed {client} for its silence, {seconds:.1f} s after it said something."
            for node, client, seconds in self.world.silences
            if seconds < shortest
        ]

    def _differences(self) -> list[str]:
        """Retained messages, which all nodes must agree on."""
        kept = [_retained(node.node.broker) for node in self.world.nodes if node.node is not None]
        found = {name: {one.get(name) for one in kept} for one in kept for name in one}
        return [
            f"Nodes do not agree on what is retained on {name}: {sorted(map(str, values))}."
            for name, values in sorted(found.items())
            if len(values) > 1
        ]


def without(case: Case, numbers: frozenset[int]) -> Case:
    """The case without some of its acts."""
    return replace(case, acts=tuple(act for act in case.acts if act.number not in numbers))


def _keeps_for_others(node: Node) -> bool:
    """Whether it has what was acknowledged and others do not have: they were not there, or its publisher has gone."""
    session = node.broker.session
    return any(debt.owed or debt.targets or session(debt.publication.publisher) is None for debt in node.debts)


def _owed_by(node: NodeProcess) -> int:
    return len(node.node.debts) if node.node is not None else 0


def _retained(broker: Broker) -> dict[str, bytes]:
    """What stays: the clocks of nodes may differ in when something expires."""
    return {
        name: one.payload for name, one in broker.retained().items() if one.expires is None and not name.startswith("$")
    }
