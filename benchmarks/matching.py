"""Publications per second that are matched with 22,000 subscriptions, on one core.

python benchmarks/matching.py            # the index, beside the compiled loop over all subscriptions

PopSub's content (section 5.1): 20 classes, two attributes from 0 to 1,000. A subscription is a range in each, its ends
drawn uniformly: a publication then matches a ninth of its class. `--width` draws ranges of that width instead. Points
are made before; the last column has the whole call from Python values to Python lists, in batches of 256. The best of
some rounds counts; both find the same, or the run stops.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from weft.model.content import Content, Filter, between
from weft.model.matching import Index

CLASSES, EXTENT = 20, 1000.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscriptions", type=int, default=22_000)
    parser.add_argument("--publications", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--width", type=float, nargs="*", default=[0.0, 100.0])
    options = parser.parse_args()
    Index(drawn_filters(np.random.default_rng(0), 10, 0.0))  # compiles
    print(
        "| ranges | subscriptions | matches each | made in | index, pub/s | loop, pub/s | ratio | from Python, pub/s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for width in options.width:
        print(row(options.subscriptions, options.publications, width, options.rounds), flush=True)


def row(subscriptions: int, publications: int, width: float, rounds: int) -> str:
    rng = np.random.default_rng(1)
    filters, contents = drawn_filters(rng, subscriptions, width), drawn_contents(rng, publications)
    made = best(1, lambda: Index(filters))
    index = Index(filters)
    points = index.lines.kinds(contents), index.lines.points(contents)
    some, batch = max(1, len(contents) // 20), contents[:256]
    few = points[0][:some], points[1][:some]
    same(index.match_points(*few), index.compare_points(*few))
    matched = len(index.match_points(*points)[1]) / len(contents)
    indexed = len(contents) / best(rounds, lambda: index.match_points(*points))
    looped = some / best(rounds, lambda: index.compare_points(*few))
    called = len(batch) / best(rounds, lambda: index.match(batch))
    name = f"of width {width:.0f}" if width else "of random ends"
    return (
        f"| {name} | {subscriptions:,} | {matched:.1f} | {made:.2f} s | {indexed:,.0f} | {looped:,.0f} "
        f"| {indexed / looped:.1f} | {called:,.0f} |"
    )


def drawn_filters(rng: np.random.Generator, count: int, width: float) -> list[Filter]:
    if width:
        low = rng.uniform(0.0, EXTENT - width, (count, 2))
        ends = np.stack((low, low + width), axis=2).tolist()
    else:
        ends = np.sort(rng.uniform(0.0, EXTENT, (count, 2, 2)), axis=2).tolist()
    kinds = rng.integers(CLASSES, size=count).tolist()
    return [
        Filter(f"class {kind}", {"x": between(*x), "y": between(*y)}) for kind, (x, y) in zip(kinds, ends, strict=True)
    ]


def drawn_contents(rng: np.random.Generator, count: int) -> list[Content]:
    values = rng.uniform(0.0, EXTENT, (count, 2)).tolist()
    kinds = rng.integers(CLASSES, size=count).tolist()
    return [Content(f"class {kind}", {"x": x, "y": y}) for kind, (x, y) in zip(kinds, values, strict=True)]


def same(indexed: tuple[np.ndarray, ...], looped: tuple[np.ndarray, ...]) -> None:
    if not all(np.array_equal(left, right) for left, right in zip(indexed, looped, strict=True)):
        raise SystemExit("the index and the loop disagree")


def best(rounds: int, call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
