"""The command: feeds targets with changed examples, and prints each input that was not taken as it should."""

import argparse
import sys
import time
from random import Random

from fuzzing.changes import changed
from fuzzing.targets import TARGETS, Target

MOST = 10  # failures of a target that are printed


def fuzz(name: str, target: Target, inputs: int, seed: int) -> int:
    """How many inputs led to an error that is none of those allowed."""
    failed = 0
    for number in range(inputs):
        data = changed(Random(f"{seed}/{name}/{number}"), target.examples)
        try:
            target.read(data)
        except target.allowed:
            continue
        except Exception as error:
            failed += 1
            if failed <= MOST:
                print(f"{name} {seed}/{number}: {type(error).__name__}: {error}\n    {data.hex()}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzzing")
    parser.add_argument("inputs", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=TARGETS)
    given = parser.parse_args()
    failed = 0
    for name in [given.only] if given.only else list(TARGETS):
        target = TARGETS[name]
        inputs = given.inputs if given.only else round(given.inputs * target.share)
        begun = time.perf_counter()
        found = fuzz(name, target, inputs, given.seed)
        failed += found
        print(f"{name:<8} {inputs:>10,} inputs  {found} failed  {time.perf_counter() - begun:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
