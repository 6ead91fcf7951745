"""PopSub's workload (section 5.1): who publishes, who subscribes to what, and what is published when.

Every publisher has one advertisement, of a class drawn uniformly, and its client is at the top of the tree. A
subscription follows one publisher and is at any broker; how many follow whom is by the followers of users, or, in the
synthetic workload, by a Zipf law over the classes, and evenly within a class. Messages have two attributes, from 0 to
1,000:

- The paper has both classes, of which one has about ten advertisements, and a number of subscriptions for each
  publisher. So the advertisements of a class divide the first attribute among them, in equal strips, and a
  subscription asks for the strip of the publisher that it follows.
- Of the second attribute it asks for all above a value, or all below; the value is uniform over the content space, as
  the paper says of all values of subscriptions. So half of a publisher's publications match on average. Other readings:
  it asks for what is between two such values, a third; or for all.

A publisher publishes at even intervals, from a moment of its own on, with values uniform over its advertisement.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from weft.arrays import Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.model.content import Filter, between
from weft.model.exchange import Exchange
from weft.model.matching import Column
from weft.workloads.followers import apportion, zipf_popularity
from weft.workloads.publication import schedule

CONTENT = 1001  # values of an attribute, from 0

Wanted = Literal["half", "third", "all"]  # of what a publisher says, a subscription's share on average


@dataclass(frozen=True)
class Setting:
    subscriptions: int = 22_000
    rate: float = 10.0  # publications a second and publisher, above 0
    seconds: float = 60.0  # that every publisher publishes for
    classes: int = 20  # of advertisements, at least 1
    wanted: Wanted = "half"

    def __post_init__(self) -> None:
        if self.subscriptions < 0 or self.rate <= 0 or self.seconds <= 0 or self.classes < 1:
            raise WeftError(f"{self} is out of range: subscriptions from 0, classes from 1, the others above 0.")


@dataclass(frozen=True, eq=False)
class ContentWorkload:
    """Ranges hold both their ends. Advertisements are those of the publishers, in the same order."""

    classes: Int32s  # of every advertisement
    strips: Int32s  # [advertisement, low or high]: of the first attribute
    publishers: Int64s  # the broker of every advertisement
    followed: Int32s  # the advertisement of every subscription, ascending
    ranges: Int32s  # [subscription, low or high]: of the second attribute
    subscribers: Int32s  # the broker of every subscription, ascending where they follow the same advertisement
    times: Floats  # of every publication, milliseconds, ascending
    advertisements: Int64s  # of every publication
    values: Int32s  # [publication, attribute]

    @property
    def publications(self) -> int:
        return len(self.times)

    def exchange(self) -> Exchange:
        """The same as anybody's content: the class of a filter, and a range in each attribute."""
        strips = [between(low, high) for low, high in self.strips.tolist()]
        kinds = [f"class {kind}" for kind in self.classes.tolist()]
        seconds = [between(low, high) for low, high in self.ranges.tolist()]
        wanted = [
            Filter(kinds[followed], {"first": strips[followed], "second": second})
            for followed, second in zip(self.followed.tolist(), seconds, strict=True)
        ]
        return Exchange(
            self.publishers,
            [Filter(kind, {"first": strip}) for kind, strip in zip(kinds, strips, strict=True)],
            self.subscribers,
            wanted,
            self.times,
            self.advertisements,
            {name: Column(self.values[:, place].astype(float)) for place, name in enumerate(("first", "second"))},
        )


def content_workload(
    popularity: npt.ArrayLike, top: Int32s, brokers: int, setting: Setting, seed: int
) -> ContentWorkload:
    """Publishers by popularity, of which each has its share of the subscriptions, are at the brokers of the top."""
    random = np.random.default_rng([seed, 1])
    shares = apportion(setting.subscriptions, popularity)
    count = len(shares)
    classes = advertisement_classes(count, setting.classes, seed)
    strips = _strips(classes)
    publishers = random.choice(top, size=count).astype(np.int64)
    followed = np.repeat(np.arange(count, dtype=np.int32), shares)
    subscribers = random.integers(brokers, size=setting.subscriptions, dtype=np.int32)
    ranges = _ranges(setting, random)
    in_order = np.lexsort((subscribers, followed))
    said = schedule(count, setting.rate, setting.seconds, seed)
    low, high = strips[said.publishers].T
    values = np.stack([random.integers(low, high + 1), random.integers(CONTENT, size=len(low))], axis=1)
    return ContentWorkload(
        classes,
        strips,
        publishers,
        followed,
        ranges[in_order],
        subscribers[in_order],
        1000.0 * said.times,
        said.publishers.astype(np.int64),
        values.astype(np.int32),
    )


def advertisement_classes(count: int, classes: int, seed: int) -> Int32s:
    """The class of every advertisement, as `content_workload` draws it from the same seed."""
    return np.random.default_rng(seed).integers(classes, size=count, dtype=np.int32)


def class_popularity(classes: Int32s, exponent: float) -> Floats:
    """Weights of advertisements whose classes follow a Zipf law, the first class being the most popular."""
    members = np.bincount(classes)
    return (zipf_popularity(len(members), exponent) / np.maximum(members, 1))[classes]


def _strips(classes: Int32s) -> Int32s:
    """The advertisements of a class share the content space evenly, in their order."""
    strips = np.empty((len(classes), 2), np.int32)
    for members in (np.flatnonzero(classes == one) for one in np.unique(classes)):
        bounds = np.linspace(0, CONTENT, len(members) + 1).astype(np.int32)
        strips[members, 0], strips[members, 1] = bounds[:-1], bounds[1:] - 1
    return strips


def _ranges(setting: Setting, random: np.random.Generator) -> Int32s:
    count = setting.subscriptions
    if setting.wanted == "third":
        return np.sort(random.integers(CONTENT, size=(count, 2), dtype=np.int32), axis=1)
    ranges = np.empty((count, 2), np.int32)
    ranges[:] = 0, CONTENT - 1
    if setting.wanted == "half":
        ranges[np.arange(count), random.integers(2, size=count)] = random.integers(CONTENT, size=count)
    return ranges
