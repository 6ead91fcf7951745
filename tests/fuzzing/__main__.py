"""The command: feeds targets with changed examples, and prints each input that was not taken as it should."""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random

from fuzzing.changes import changed
from fuzzing.targets import TARGETS

MOST = 10  # failures of a part of a target's inputs that are printed
PART = 10_000  # inputs that a process takes at a time
RARE = 500  # inputs of which one is made of a large example


def fuzz(name: str, seed: int, numbers: range) -> int:
    """How many inputs led to an error that is none of those allowed."""
    failed, target = 0, TARGETS[name]
    for number in numbers:
        examples = target.large if target.large and number % RARE == 0 else target.examples
        data = changed(Random(f"{seed}/{name}/{number}"), examples)
        try:
            target.read(data)
        except target.allowed:
            continue
        except Exception as error:
            failed += 1
            if failed <= MOST:
                print(f"{name} {seed}/{number}: {type(error).__name__}: {error}\n    {data.hex()}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzzing")
    parser.add_argument("inputs", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    failed = 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for name in [given.only] if given.only else list(TARGETS):
            inputs = given.inputs if given.only else round(given.inputs * TARGETS[name].share)
            parts = [range(first, min(first + PART, inputs)) for first in range(0, inputs, PART)]
            begun = time.perf_counter()
            found = sum(pool.map(partial(fuzz, name, given.seed), parts))
            failed += found
            print(f"{name:<8} {inputs:>10,} inputs  {found} failed  {time.perf_counter() - begun:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
