"""First use: what every command compiles before it can work.

    python benchmarks/compilation.py                   # a row a command
    python benchmarks/compilation.py --kernels 20      # and the dearest kernels of each

Every command has a process of its own that finds no machine code, and works on a small instance. Seconds are of the
processor, so that other work on the machine counts little. A specialisation is a kernel compiled for some types of
arguments; what a kernel costs does not count the kernels that were compiled for it.
"""

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from numba.core import event

from weft.model.instance import Instance, read_instance
from weft.model.overlay import Overlay, read_overlay
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality, quality
from weft.sim.bulk import evaluate
from weft.trees.weave import weave
from weft.workloads.catalog import generate
from weft.workloads.publication import publications

Work = Callable[[Instance, Overlay], object]


class Compilations(event.Listener):
    """Seconds and specialisations of every kernel."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.specialisations: Counter[str] = Counter()
        self._open: list[float] = []  # the start of every compilation under way, moved on by those inside

    def on_start(self, _: event.Event) -> None:
        self._open.append(time.process_time())

    def on_end(self, happened: event.Event) -> None:
        now, function = time.process_time(), happened.data["dispatcher"].py_func
        own = now - self._open.pop()
        self._open = [start + own for start in self._open]
        name = f"{function.__module__.removeprefix('weft.kernels.')}.{function.__name__}"
        self.seconds[name] += own
        self.specialisations[name] += 1


def designed(name: str, **options: object) -> Work:
    def work(instance: Instance, _: Overlay) -> None:
        link_quality(instance, design(instance, name, seed=1, **options))

    return work


def routed(router: str) -> Work:
    def work(instance: Instance, overlay: Overlay) -> None:
        evaluate(instance, overlay, router, publications(instance, 1000, 1), seed=1)

    return work


CASES: dict[str, Work] = {
    "design --overlay swico-sl": designed("swico-sl"),
    "design --overlay gm": designed("gm"),
    "design --overlay dc": designed("dc"),
    "evaluate --router pie": routed("pie"),
    "evaluate --router scribe": routed("scribe"),
    "evaluate --router weave": routed("weave"),
    "weave": weave,
    "inspect": quality,
    "generate social": lambda instance, overlay: generate("social", nodes=300, seed=1),
}


def measured(folder: str, case: str) -> Compilations:
    instance, overlay = read_instance(Path(folder) / "instance"), read_overlay(Path(folder) / "overlay")
    found = Compilations()
    with event.install_listener("numba:compile", found):
        CASES[case](instance, overlay)
    return found


def in_new_process(folder: str, case: str) -> Compilations:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
            return pool.submit(measured, folder, case).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append", help="Only this one; may be repeated.")
    parser.add_argument("--kernels", type=int, default=0, help="How many kernels to list of each.")
    options = parser.parse_args()
    print("| command | kernels | specialisations | seconds |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        instance = generate("unif", nodes=300, topics=50, subscriptions=10, seed=1)
        instance.write(Path(folder) / "instance")
        design(instance, "random", seed=1).write(Path(folder) / "overlay")
        for case in options.case or CASES:
            show(case, in_new_process(folder, case), options.kernels)


def show(case: str, found: Compilations, kernels: int) -> None:
    counts = found.specialisations
    print(f"| `{case}` | {len(counts)} | {counts.total()} | {found.seconds.total():.1f} |", flush=True)
    for name, seconds in found.seconds.most_common(kernels):
        print(f"  {seconds:6.2f} s  {counts[name]} x {name}", flush=True)


if __name__ == "__main__":
    main()
