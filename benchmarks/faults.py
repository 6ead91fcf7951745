"""Real faults on real processes, under load: is anything lost that was acknowledged, and how long until all is well?

    python benchmarks/faults.py [--faults relay,subscriber,...] [--times 20] [--nodes 8] [--many 50] [--seed 1]
    python benchmarks/faults.py --soak 3600 [--nodes 16]        # a fault every ten seconds; memory and files

Each fault happens at random moments, again and again in one network. Between two of them everything heals, and every
acknowledged publication must have come to every subscriber. "whole after" is when the last publication was made that
came more than half a second late, between people whose nodes were not hurt; "all have all after" is when the last of
what was published until the fault was over came to the last subscriber, those of the hurt nodes included. People have
the numbers of their nodes.
"""

import argparse
import asyncio
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from hurt import Network, fill
from markdown import head, row
from promise import Ledger, Publisher, Subscriber
from weft.live.operator import ask

RESTART = 1.0  # seconds until a process that was killed is started again
STOPPED = 10.0  # seconds of SIGSTOP
CUT = 5.0  # seconds that a link carries nothing
FULL = 3.0  # seconds that a disk is full
AFTER = 3.0  # seconds that it is published after a fault is over
PATIENCE = 60.0  # seconds until what has not come is lost
LOOKS = 4  # at memory and files, besides the first


@dataclass
class Outcome:
    acknowledged: int
    deliveries: int
    duplicates: int
    lost: int
    whole: float  # seconds after the fault
    complete: float


class Stage:
    """A network with people in it, and chance."""

    def __init__(self, network: Network, chance: random.Random, publishers: int, subscribers: int, rate: float) -> None:
        self.network, self.chance = network, chance
        self.ledger = Ledger()
        ports = [network.port(node) for node in range(network.nodes)]
        self.publishers = [
            Publisher(n, ports[n:] + ports[:n], self.ledger, rate) for n in range(min(publishers, network.nodes))
        ]
        homes = [network.nodes - 1 - n for n in range(min(subscribers, network.nodes))]
        self.subscribers = {node: Subscriber(node, ports[node], self.ledger) for node in homes}

    async def begin(self) -> None:
        for proxy in self.network.proxies:
            await proxy.start()
        await asyncio.to_thread(self.network.start)
        await asyncio.to_thread(self.network.settled)
        async with asyncio.timeout(PATIENCE):
            for one in self.subscribers.values():
                await one.subscribed.wait()

    async def end(self) -> None:
        for one in (*self.publishers, *self.subscribers.values()):
            one.end()
        await asyncio.to_thread(self.network.end)
        for proxy in self.network.proxies:
            proxy.close()

    def talk(self, talks: bool) -> None:
        for one in self.publishers:
            (one.talks.set if talks else one.talks.clear)()

    async def delivered(self) -> None:
        """Wait until everybody has everything, or has had the time for it."""
        until = time.monotonic() + PATIENCE
        await asyncio.sleep(0.2)
        while self.ledger.missing() and time.monotonic() < until:
            await asyncio.sleep(0.1)

    def inner_node(self) -> int:
        """The node that most trees pass through."""
        passed: Counter[str] = Counter()
        for one in self.publishers:
            for tree in ask(self.network.master, "explain", {"topic": f"promise/{one.number}"})["trees"]:
                ends = [name for each in tree["members"] if each["from"] for name in (each["node"], each["from"])]
                passed.update(name for name, count in Counter(ends).items() if count > 1)
        name = passed.most_common(1)[0][0] if passed else "node-0"
        return int(name.removeprefix("node-"))


# Faults: each hurts nodes, heals them, and says which they were


Fault = Callable[[Stage], Awaitable[set[int]]]


async def kill(stage: Stage, *nodes: int | None) -> set[int]:
    stage.network.kill(*nodes)
    await asyncio.sleep(RESTART)
    await asyncio.to_thread(stage.network.restart, *nodes)
    return {node for node in nodes if node is not None}


async def kill_relay(stage: Stage) -> set[int]:
    return await kill(stage, await asyncio.to_thread(stage.inner_node))


async def kill_subscribers_node(stage: Stage) -> set[int]:
    return await kill(stage, stage.chance.choice(list(stage.subscribers)))


async def kill_publishers_node(stage: Stage) -> set[int]:
    return await kill(stage, stage.chance.choice(stage.publishers).number)


async def kill_master(stage: Stage) -> set[int]:
    return await kill(stage, None)


async def kill_master_and_node(stage: Stage) -> set[int]:
    return await kill(stage, None, stage.chance.randrange(stage.network.nodes))


async def kill_five(stage: Stage) -> set[int]:
    """Five nodes end within a second, and come back together."""
    nodes = stage.chance.sample(range(stage.network.nodes), min(5, stage.network.nodes - 1))
    for node in nodes:
        stage.network.kill(node)
        await asyncio.sleep(stage.chance.uniform(0.0, 0.4))
    await asyncio.sleep(RESTART)
    await asyncio.to_thread(stage.network.restart, *nodes)
    return set(nodes)


async def stop(stage: Stage) -> set[int]:
    node = stage.chance.randrange(stage.network.nodes)
    os.kill(stage.network.pid(node), signal.SIGSTOP)
    await asyncio.sleep(STOPPED)
    os.kill(stage.network.pid(node), signal.SIGCONT)
    return {node}


async def cut(stage: Stage) -> set[int]:
    proxies = list(stage.network.proxies)
    stage.chance.shuffle(proxies)
    cut_one = next(one for one in proxies if one.cut(stage.chance))
    await asyncio.sleep(CUT)
    cut_one.mend()
    return set()


async def fill_disk(stage: Stage) -> set[int]:
    assert stage.network.small is not None
    taken = await asyncio.to_thread(fill, stage.network.folder(stage.network.small))
    await asyncio.sleep(FULL)
    taken.unlink()
    return {stage.network.small}


FAULTS: dict[str, tuple[str, Fault]] = {
    "relay": ("kill -9 of the node that most trees pass through", kill_relay),
    "subscriber": ("kill -9 of a subscriber's node", kill_subscribers_node),
    "publisher": ("kill -9 of a publisher's node", kill_publishers_node),
    "master": ("kill -9 of the master", kill_master),
    "both": ("kill -9 of the master and a node", kill_master_and_node),
    "stop": (f"SIGSTOP of a node for {STOPPED:.0f} s", stop),
    "cut": (f"a link carries nothing for {CUT:.0f} s", cut),
    "disk": (f"a publisher's disk is full for {FULL:.0f} s", fill_disk),
    "many": ("kill -9 of 5 nodes within a second", kill_five),
}


async def trial(stage: Stage, fault: Fault, after: float = AFTER) -> Outcome:
    """One fault under load, and its end."""
    stage.ledger.sent.clear()
    stage.ledger.acknowledged.clear()
    for heard in stage.ledger.heard.values():
        heard.clear()
    stage.ledger.duplicates = 0
    stage.talk(True)
    await asyncio.sleep(1.0 + stage.chance.random())
    begin = time.monotonic()
    hurt = await fault(stage)
    healed = time.monotonic()
    await asyncio.sleep(after)
    stage.talk(False)
    await stage.delivered()
    lost = stage.ledger.missing()
    for subscriber, said in lost:
        sent, acknowledged = stage.ledger.sent[said] - begin, stage.ledger.acknowledged[said] - begin
        print(
            f"Lost: {said} to subscriber {subscriber}, published {sent:+.3f} s and acknowledged {acknowledged:+.3f} s "
            f"after nodes {sorted(hurt)} were hurt, who were well again after {healed - begin:.3f} s.",
            file=sys.stderr,
        )
    return Outcome(
        len(stage.ledger.acknowledged),
        sum(map(len, stage.ledger.heard.values())),
        stage.ledger.duplicates,
        len(lost),
        stage.ledger.last_late(begin, hurt) - begin,
        0.0 if lost else max(0.0, stage.ledger.last_heard(healed) - begin),
    )


Need = tuple[int, bool, int | None]  # nodes, whether links pass through proxies, the node with a small disk


def need(name: str, size: argparse.Namespace) -> Need:
    return size.many if name == "many" else size.nodes, name == "cut", 0 if name == "disk" else None


async def repeated(names: list[str], size: argparse.Namespace, folder: Path) -> int:
    """Each of some faults again and again, in one network. Deliveries that were lost."""
    nodes, proxied, small = need(names[0], size)
    network, chance, lost = Network(nodes, size.port, folder, proxied=proxied, small=small), random.Random(size.seed), 0
    stage = Stage(network, chance, size.publishers, size.subscribers, size.rate)
    try:
        await stage.begin()
        for name in names:
            found = []
            for _ in range(size.times):
                found.append(await trial(stage, FAULTS[name][1], size.after))
                await asyncio.to_thread(network.settled)
            lost += tell(name, nodes, found)
    finally:
        await stage.end()
    return lost


def tell(name: str, nodes: int, found: list[Outcome]) -> int:
    """A row; how many were lost."""
    counts = [sum(getattr(one, each) for one in found) for each in ("acknowledged", "deliveries", "duplicates", "lost")]
    times = [seconds([getattr(one, each) for one in found]) for each in ("whole", "complete")]
    row(FAULTS[name][0], nodes, len(found), *(f"{one:,}" for one in counts), *times)
    return int(counts[-1])


def seconds(times: list[float]) -> str:
    return f"{statistics.median(times):.2f}, at most {max(times):.2f}"


def faults(size: argparse.Namespace) -> int:
    """The table, and how many deliveries were lost in all."""
    lost = 0
    head("fault", "nodes", "times", "acknowledged", "deliveries", "twice", "lost", "whole after: s", "all have all: s")
    for _, names in groupby(size.faults.split(","), lambda name: need(name, size)):
        with tempfile.TemporaryDirectory() as folder:
            lost += asyncio.run(repeated(list(names), size, Path(folder) / "data"))
    return lost


# Soak


def memory_and_files(network: Network) -> tuple[int, int]:
    """KiB of all processes' data, and their open files.

    Data that a process shares with the one it was forked from count too: else a process would seem to grow when it
    writes to them, as Python does when it counts references.
    """
    kib, files = 0, 0
    for pid in network.pids():
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        kib += sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))
        files += len(os.listdir(f"/proc/{pid}/fd"))
    return kib, files


async def soak(size: argparse.Namespace, folder: Path) -> int:
    """Faults at random, one every ten seconds, for as long as is asked for. Deliveries that were lost."""
    chance = random.Random(size.seed)
    stage = Stage(
        Network(size.nodes, size.port, folder, proxied=True), chance, size.publishers, size.subscribers, size.rate
    )
    kinds = ["relay", "subscriber", "publisher", "master", "stop", "cut"]
    tried: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    try:
        await stage.begin()
        await trial(stage, kill_master)  # so that all has been used once
        await asyncio.to_thread(stage.network.settled)
        begun = time.monotonic()
        sizes = [memory_and_files(stage.network)]
        while time.monotonic() < begun + size.soak:
            if time.monotonic() > begun + len(sizes) * size.soak / LOOKS:
                sizes.append(memory_and_files(stage.network))
            started, kind = time.monotonic(), chance.choice(kinds)
            found = await trial(stage, FAULTS[kind][1])
            tried[kind] += 1
            totals.update(acknowledged=found.acknowledged, deliveries=found.deliveries, lost=found.lost)
            await asyncio.to_thread(stage.network.settled)
            await asyncio.sleep(max(0.0, started + 10.0 - time.monotonic()))
        await asyncio.sleep(5.0)
        sizes.append(memory_and_files(stage.network))
    finally:
        await stage.end()
    head("minutes", "nodes", "faults", "acknowledged", "deliveries", "lost", "memory: MiB", "open files")
    kib, files = zip(*sizes, strict=True)
    counts = [f"{totals[each]:,}" for each in ("acknowledged", "deliveries", "lost")]
    looks = ", ".join(f"{each / 1024:,.0f}" for each in kib), ", ".join(map(str, files))
    row(f"{size.soak / 60:.0f}", size.nodes, tried.total(), *counts, *looks)
    return totals["lost"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--many", type=int, default=50, help="nodes of the network of which five are killed")
    parser.add_argument("--publishers", type=int, default=4)
    parser.add_argument("--subscribers", type=int, default=6)
    parser.add_argument("--rate", type=float, default=10.0, help="publications a second of each publisher")
    parser.add_argument("--after", type=float, default=AFTER, help="seconds that it is published after a fault is over")
    parser.add_argument("--port", type=int, default=28_000, help="the first of all that are used")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--soak", type=float, help="seconds of random faults instead of the table")
    size = parser.parse_args()
    if size.soak is None:
        lost = faults(size)
    else:
        with tempfile.TemporaryDirectory() as folder:
            lost = asyncio.run(soak(size, Path(folder)))
    sys.exit(f"{lost} deliveries of acknowledged publications were lost." if lost else 0)


if __name__ == "__main__":
    main()
