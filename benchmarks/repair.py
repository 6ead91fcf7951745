"""Repair beside designing anew, over hours of churn and after sudden changes.

python benchmarks/repair.py [--hours 12] [--nodes 200]

Each hour a twentieth of the nodes goes, and a tenth as many subscriptions as there are nodes change. What goes comes
back within an hour on average. The overlay is repaired after every change. "changed" are the links that all repairs
together opened or closed until then, of those that one new design would open or close then.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from markdown import head, row
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import Overlay, undirected
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.overlays.repair import repair
from weft.workloads.catalog import generate
from weft.workloads.churn import HOUR, churn_by_rate

OVERLAYS = ("gm", "dc", "dcbc", "swico-sl", "swico-even")
DRIFT = ("instance", "overlay", "hours", "changes", "links / new", "changed / by one new design", "TcoSuppR", "new")
SUDDEN = ("instance", "what", "overlay", "links / new", "changed / by a new design")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=int, default=12)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--toy", action="store_true", help="whether it works")
    given = parser.parse_args()
    nodes, hours = (40, 2) if given.toy else (given.nodes, given.hours)
    workloads = {
        "Unif": generate("unif", nodes=nodes, topics=nodes // 2, subscriptions=10, seed=1),
        "Zipf": generate("zipf", nodes=nodes, topics=nodes, subscriptions=20, seed=1),
    }
    head(*DRIFT)
    for label, instance in workloads.items():
        report_drift(label, instance, hours)
    head(*SUDDEN)
    for label, instance in workloads.items():
        report_sudden(label, instance)


def report_drift(label: str, first: Instance, hours: int) -> None:
    _, *others = instances(first, hours)
    for name in OVERLAYS:
        overlay, was, changed = design(first, name, seed=1), named(first), 0
        designed = links_of(first, overlay)
        for number, (hour, instance) in enumerate(others):
            made = repair(overlay, was, instance)
            changed += len(made.opened) + len(made.closed)
            overlay, was = made.overlay, instance
            following = others[number + 1][0] if number + 1 < len(others) else hours + 1
            for shown in (1, hours // 2, hours):
                if hour <= shown < following:
                    new = design(instance, name, seed=2)
                    share = changed / len(links_of(instance, new) ^ designed)
                    support = [f"{link_quality(instance, each)['tco_support_ratio']:.3f}" for each in (overlay, new)]
                    row(label, name, shown, number + 1, f"{overlay.links / new.links:.3f}", f"{share:.2f}", *support)


def report_sudden(label: str, first: Instance) -> None:
    *_, (_, sixty) = list(instances(first, 1000, most=60))
    other = generate("unif", nodes=first.nodes, topics=first.topics, subscriptions=10, seed=9)
    for what, instance in (("60 changes", sixty), ("all subscriptions drawn anew", named(other))):
        for name in OVERLAYS:
            designed = design(first, name, seed=1)
            made, new = repair(designed, named(first), instance), design(instance, name, seed=2)
            anew = len(links_of(instance, new) ^ links_of(first, designed))
            share = (len(made.opened) + len(made.closed)) / anew
            row(label, what, name, f"{made.overlay.links / new.links:.3f}", f"{share:.2f}")


def instances(first: Instance, hours: int, most: int | None = None) -> Iterator[tuple[float, Instance]]:
    """The instance after every change, with the hour; at first as it is."""
    interests = {node: set(first.interest[node].tolist()) for node in range(first.nodes)}
    there = set(interests)
    yield 0.0, instance_of(first, interests, there)
    schedule = churn_by_rate(first, float(hours), 1, node_rate=0.05, subscription_rate=0.1)
    for number, change in enumerate(schedule):
        if number == most:
            return
        if change.event == "subscribe":
            interests[change.node].add(change.topic)
        elif change.event == "unsubscribe":
            interests[change.node].remove(change.topic)
        else:
            (there.add if change.event == "join" else there.remove)(change.node)
        yield change.time / HOUR, instance_of(first, interests, there)


def instance_of(first: Instance, interests: dict[int, set[int]], there: set[int]) -> Instance:
    nodes = sorted(there)
    pairs = [(place, topic) for place, node in enumerate(nodes) for topic in sorted(interests[node])]
    rows, topics = zip(*pairs, strict=True)
    names = np.array([str(node) for node in nodes], object)
    counts = {"node_count": len(nodes), "topic_count": first.topics}
    return instance_from_pairs(rows, topics, node_names=names, **counts)


def named(instance: Instance) -> Instance:
    interests = {node: set(instance.interest[node].tolist()) for node in range(instance.nodes)}
    return instance_of(instance, interests, set(interests))


def links_of(instance: Instance, overlay: Overlay) -> set[frozenset[str]]:
    pairs = zip(*(ends.tolist() for ends in undirected(overlay)), strict=True)
    return {frozenset(map(instance.node_name, pair)) for pair in pairs}


if __name__ == "__main__":
    main()
