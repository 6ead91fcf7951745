"""The index of filters: matching a name against 100,000 filters, subscribing and unsubscribing among them.

    python benchmarks/filter_mqtt.py [--filters 100000]

A tenth of the filters has `+` in some level, a hundredth ends with `#`. Names are of four levels.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterable

from weft.broker.filter import FilterIndex
from weft.wire.mqtt.topic import matches


def drawn_name(draw: random.Random) -> list[str]:
    return [
        f"site{draw.randrange(100)}",
        f"line{draw.randrange(30)}",
        f"cell{draw.randrange(30)}",
        draw.choice("abcdef"),
    ]


def drawn_filter(draw: random.Random) -> str:
    levels, chance = drawn_name(draw), draw.random()
    if chance < 0.01:
        return "/".join([*levels[: draw.randrange(1, 4)], "#"])
    if chance < 0.11:
        levels[draw.randrange(4)] = "+"
    return "/".join(levels)


def each(what: Callable[[str], object], names: Iterable[str]) -> float:
    """Microseconds."""
    names = list(names)
    begin = time.perf_counter()
    for name in names:
        what(name)
    return (time.perf_counter() - begin) / len(names) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filters", type=int, default=100_000)
    count = parser.parse_args().filters
    draw = random.Random(1)
    held: dict[str, None] = {}
    while len(held) < count:
        held[drawn_filter(draw)] = None
    index: FilterIndex[str] = FilterIndex()
    built = each(lambda one: index.setdefault(one, lambda: one), held)
    names = ["/".join(drawn_name(draw)) for _ in range(20_000)]
    found = sum(len(index.match(name)) for name in names) / len(names)
    for name in names[:5]:
        assert sorted(index.match(name)) == sorted(one for one in held if matches(one, name))
    some = draw.sample(list(held), count // 10)
    print("| index of filters | us |\n|---|---|")
    print(f"| subscribe, from none to {count:,} | {built:.1f} |")
    print(f"| match a name ({found:.1f} filters match) | {each(index.match, names):.1f} |")
    print(f"| unsubscribe | {each(index.remove, some):.1f} |")
    print(f"| subscribe again | {each(lambda one: index.setdefault(one, lambda: one), some):.1f} |")


if __name__ == "__main__":
    main()
