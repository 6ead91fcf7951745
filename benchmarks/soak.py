"""An hour of a network under clients that come and go, with restarts: what grows, and is every promise kept?

    python benchmarks/soak.py [--minutes 60] [--figure soak.svg] [--samples soak.csv]

Five nodes and a master with certificates, `--sync disk`; the load is `soak_load.py`'s. Two nodes are never restarted;
the others and the master end by SIGTERM and kill -9, in the first sixth of the time and again in the middle, and the
overlay is designed again. Every ten seconds the memory of each process (what is its own), its open files, its journal
and the master's store are looked at.

A process counts from a sixth of the time after its start: by then what is bounded is full, for which some bounds are
smaller than by default (`--node-options`, `--master-options`). Slopes are told in per cent of the mean an hour, with
two standard errors: between restarts, each piece with a level of its own, and of journals by the points before they
are compacted. What is above 1 % an hour beyond its error grows.
"""

import argparse
import asyncio
import csv
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from markdown import head, row
from slope import LEAST, LEAST_PEAKS, Piece, hours_of, peaks, slope
from soak_cluster import MASTER, Cluster, Size
from soak_load import Account, Load, Rates
from weft.report.figure import COLOURS, INK, STYLE, svg

LOOKS = 360  # looks at all processes in the whole time: every ten seconds of an hour
WARMING = 1 / 6  # of the time
BEYOND = 1.0  # per cent an hour
LEAST_HOURS = 1 / 6  # in which something may be seen to grow
PATIENCE = 120.0  # seconds for what is still to come
MOVES = 30  # times that the movers go on in the whole time
NODE_OPTIONS = "--cached-names 5000"

What = Callable[[Size], float]
MEASURES: dict[str, What] = {
    "memory: MiB": lambda size: size.memory,
    "open files": lambda size: size.files,
    "journal or store: MiB": lambda size: size.disk,
}


@dataclass(frozen=True)
class Sample:
    seconds: float
    name: str
    life: int  # how often it had been started
    size: Size


@dataclass(frozen=True)
class Fault:
    at: float  # share of the time
    name: str
    number: signal.Signals


def faults(cluster: Cluster) -> list[Fault]:
    """Restarts of all processes but the first node and the last but one, early and again in the middle."""
    hurt = [name for name in cluster.names[1:] if name != cluster.names[-2]]
    ends = (signal.SIGTERM, signal.SIGKILL)
    found = []
    for turn, begin in enumerate((0.03, 0.5)):
        for place, name in enumerate([*hurt, MASTER]):
            found.append(Fault(begin + 0.02 * place, name, ends[(place + turn) % 2]))
    return found


async def soak(cluster: Cluster, size: argparse.Namespace) -> tuple[list[Sample], list[tuple[float, str]], Account]:
    await asyncio.to_thread(cluster.begin)
    rates = Rates(**{one.name: getattr(size, one.name) for one in fields(Rates)})
    load = Load(cluster.ports, cluster.tls_port, cluster.tls(), rates, random.Random(size.seed))
    samples: list[Sample] = []
    told: list[tuple[float, str]] = []
    length = size.minutes * 60
    try:
        async with asyncio.timeout(PATIENCE):
            await load.subscribed()
        begin = time.monotonic()
        load.talk(True)
        parts = (look(cluster, begin, length, samples), hurt(cluster, begin, length, told), moved(load, begin, length))
        await asyncio.gather(*parts)
        load.talk(False)
        await load.complete(PATIENCE)
    finally:
        await load.end()
        await asyncio.to_thread(cluster.end)
    return samples, told, load.account


async def look(cluster: Cluster, begin: float, length: float, samples: list[Sample]) -> None:
    for number in range(LOOKS + 1):
        await asyncio.sleep(max(0.0, begin + length * number / LOOKS - time.monotonic()))
        at = time.monotonic() - begin
        lives = dict(cluster.lives)
        samples += [Sample(at, name, lives[name], one) for name, one in cluster.sizes().items()]
        if at > length:
            return


async def hurt(cluster: Cluster, begin: float, length: float, told: list[tuple[float, str]]) -> None:
    for fault in faults(cluster):
        await asyncio.sleep(max(0.0, begin + length * fault.at - time.monotonic()))
        told.append((time.monotonic() - begin, f"{fault.number.name} {fault.name}"))
        await asyncio.to_thread(cluster.restart, fault.name, fault.number)
        if fault.name == MASTER:
            await asyncio.to_thread(cluster.await_up)
            await asyncio.to_thread(cluster.redesign)


async def moved(load: Load, begin: float, length: float) -> None:
    for number in range(1, MOVES):
        await asyncio.sleep(max(0.0, begin + length * number / MOVES - time.monotonic()))
        load.move()


# What it comes to


def pieces(samples: list[Sample], name: str, what: What, length: float) -> list[Piece]:
    """What a process took in each of its lives, from when it was warm."""
    lives: dict[int, list[Sample]] = defaultdict(list)
    for one in samples:
        if one.name == name:
            lives[one.life].append(one)
    found = []
    for life in lives.values():
        warm = [one for one in life if one.seconds >= life[0].seconds + WARMING * length]
        found.append((np.array([one.seconds / 3600 for one in warm]), np.array([what(one.size) for one in warm])))
    return found


def tell_slopes(samples: list[Sample], length: float) -> list[str]:
    """A row a slope; what grows."""
    head("process", "what", "points", "mean", "an hour: %", "error: %", "grows")
    growing = []
    for name in sorted({one.name for one in samples}, key=lambda name: (name == MASTER, name)):
        for what, measure in MEASURES.items():
            found, least = pieces(samples, name, measure, length), LEAST
            long_enough = hours_of(found) >= LEAST_HOURS
            if measure is MEASURES["journal or store: MiB"] and name != MASTER:
                found, least = [peaks(one) for one in found], LEAST_PEAKS
            fitted = slope(found, least) if long_enough else None
            if fitted is None:
                row(name, what, sum(len(hours) for hours, _ in found), "", "", "", "too short to tell")
                continue
            grows = fitted.grows(BEYOND)
            growing += [f"{what.partition(':')[0]} of {name}"] * grows
            cells = (f"{fitted.mean:,.1f}", f"{fitted.percent:+.2f}", f"{fitted.error:.2f}")
            row(name, what, fitted.points, *cells, "yes" if grows else "no")
    return growing


def tell_promises(account: Account, size: argparse.Namespace, restarts: int) -> int:
    """A row; how many deliveries were lost, or came twice though they may not."""
    lost = account.missing()
    head(
        "minutes", "nodes", "restarts", "acknowledged", "due", "lost", "twice", "twice, moved", "visitors", "not served"
    )
    visits, twice = account.visits, account.twice
    counts = (len(account.acknowledged), account.due(), lost, twice[True], twice[False])
    counts = (*counts, visits.total(), visits["not served"])
    row(f"{size.minutes:g}", size.nodes, restarts, *(f"{one:,}" for one in counts))
    return lost + twice[True]


def picture(samples: list[Sample], told: list[tuple[float, str]]) -> str:
    """Everything over time, a panel a measure; restarts are lines."""
    names = sorted({one.name for one in samples}, key=lambda name: (name == MASTER, name))
    panels: list[tuple[str, What, list[str]]] = [
        ("memory: MiB", MEASURES["memory: MiB"], names),
        ("open files", MEASURES["open files"], names),
        ("journal: MiB", MEASURES["journal or store: MiB"], [name for name in names if name != MASTER]),
        ("store: MiB", MEASURES["journal or store: MiB"], [MASTER]),
    ]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 9.6), layout="constrained")
        all_axes = figure.subplots(len(panels), sharex=True)
        for axes, (label, what, shown) in zip(all_axes, panels, strict=True):
            for name in shown:
                draw(axes, [one for one in samples if one.name == name], what, COLOURS[names.index(name)])
            for at, _ in told:
                axes.axvline(at / 60, color=INK, lw=0.6, ls=":", alpha=0.7)
            axes.set(ylabel=label, ylim=(0, None))
            axes.grid(True)
        all_axes[-1].set(xlabel="minutes; dotted: a restart")
        handles = [
            matplotlib.lines.Line2D([], [], color=COLOURS[place], label=name) for place, name in enumerate(names)
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(names))
        return svg(figure)


def draw(axes: Axes, samples: list[Sample], what: What, colour: str) -> None:
    for life in sorted({one.life for one in samples}):
        of_it = [one for one in samples if one.life == life]
        axes.plot([one.seconds / 60 for one in of_it], [what(one.size) for one in of_it], color=colour, lw=1.2)


def write_samples(path: Path, samples: list[Sample]) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["seconds", "process", "life", "memory_mib", "open_files", "disk_mib"])
        for one in samples:
            cells = (f"{one.size.memory:.2f}", one.size.files, f"{one.size.disk:.3f}")
            table.writerow([f"{one.seconds:.1f}", one.name, one.life, *cells])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--publications", type=float, default=24.0, help="publications a second that are accounted for")
    parser.add_argument("--payload", type=int, default=6000, help="bytes of each: they fill the journals")
    parser.add_argument("--names", type=float, default=170.0, help="names a second that are used once")
    parser.add_argument("--retained", type=float, default=14.0, help="retained messages a second")
    parser.add_argument("--length", type=int, default=2600, help="bytes of their names: 16 MiB of them are remembered")
    parser.add_argument("--keep", type=float, default=60.0, help="seconds until each is cleared")
    parser.add_argument("--visitors", type=float, default=10.0, help="clients a second that come and go")
    parser.add_argument("--stay", type=float, default=5.0, help="seconds that they stay")
    parser.add_argument("--node-options", default=NODE_OPTIONS, help="of `weft node`, in one word")
    parser.add_argument("--master-options", default="", help="of `weft master`, in one word")
    parser.add_argument("--port", type=int, default=24_000, help="the first of all that are used")
    parser.add_argument("--folder", type=Path, help="on the disk to use; a temporary one if not given")
    parser.add_argument("--figure", type=Path, help="where the picture is written")
    parser.add_argument("--samples", type=Path, help="where all that was measured is written")
    parser.add_argument("--seed", type=int, default=1)
    size = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=size.folder) as folder:
        cluster = Cluster(size.nodes, size.port, Path(folder), size.node_options, size.master_options)
        with suppress(KeyboardInterrupt):
            judge(*asyncio.run(soak(cluster, size)), size)


def judge(samples: list[Sample], told: list[tuple[float, str]], account: Account, size: argparse.Namespace) -> None:
    if size.samples:
        write_samples(size.samples, samples)
    if size.figure:
        size.figure.write_text(picture(samples, told))
    broken = tell_promises(account, size, len(told))
    growing = tell_slopes(samples, size.minutes * 60)
    print(f"\nSeen to grow by more than {BEYOND:g} % an hour beyond its error: {', '.join(growing) or 'nothing'}.")
    if broken or growing:
        sys.exit("A promise was broken." if broken else "Something grows.")


if __name__ == "__main__":
    main()
