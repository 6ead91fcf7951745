"""Hand-made defects of the live network, and whether `weft chaos` notices each within a hundred seeds.

    python -m mutation.chaos                  # with tests/ on the path; one defect a line: the seed that found it
    python -m mutation.chaos "late table"     # one of them

chaos.toml has the defects. Each is put into its module in a process of its own, which plays seeds until a promise is
broken: a hundred, and then those that have taught something. The exit code is 1 where one was not noticed.
"""

import argparse
import ast
import sys
import tomllib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from mutation.trial import TESTS, Replacement

SOURCES = TESTS.parent / "src" / "weft"
DEFECTS = Path(__file__).parent / "chaos.toml"
SEEDS = 100
FIRST = 1


@dataclass(frozen=True)
class Defect:
    name: str
    file: str  # under src/weft
    old: str
    new: str
    why: str  # what it breaks

    @property
    def path(self) -> Path:
        return SOURCES / self.file

    @property
    def module(self) -> str:
        return ".".join(("weft", *Path(self.file).with_suffix("").parts))

    def tree(self) -> ast.Module:
        source = self.path.read_text()
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file} has the text of {self.name!r} {source.count(self.old)} times, not once.")
        return ast.parse(source.replace(self.old, self.new))


def defects() -> list[Defect]:
    with DEFECTS.open("rb") as file:
        return [Defect(**row) for row in tomllib.load(file)["defect"]]


def found_by(defect: Defect, seeds: int = SEEDS) -> tuple[str, str] | None:
    """The first seed that notices, and what it found; for a process of its own, which has not imported the module."""
    sys.meta_path.insert(0, Replacement(defect.module, defect.path, defect.tree()))
    from test_sim_chaos import TAUGHT
    from weft.sim.chaos.case import plain
    from weft.sim.chaos.coincidence import drawn
    from weft.sim.chaos.stage import play

    for seed in range(FIRST, FIRST + seeds):
        if found := play(drawn(seed)).found:
            return f"seed {seed}", found[0].splitlines()[-1]
    for seed in TAUGHT:
        if found := play(plain(seed)).found:
            return f"taught seed {seed}", found[0].splitlines()[-1]
    return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="mutation.chaos", description="Which defects weft chaos notices.")
    parser.add_argument("names", nargs="*", help="of defects; default: all")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen = [one for one in defects() if not options.names or one.name in options.names]
    missed = 0
    # A process a defect: modules are imported once.
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for defect, found in zip(chosen, pool.map(found_by, chosen), strict=True):
            missed += found is None
            print(f"{defect.name}: " + ("NOT FOUND" if found is None else f"{found[0]}: {found[1]}"), flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
