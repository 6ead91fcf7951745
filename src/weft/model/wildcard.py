"""What filters stand for: those of the known topics that they match.

Known are the topics that somebody subscribes to by name, and those of a list. `are_filters` is the same rule as
`is_expanded`, over Arrow's arrays; Spark uses its expressions.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.model.name_index import NameIndex
from weft.model.topic import is_filter, is_name, is_shared, is_wild, split_shared

Find = Callable[[str], Iterable[int]]  # the topics, by number, that a filter stands for

_LEVEL = r"([^+#/\x00]*|\+)"
_FILTER = rf"(([^+#/\x00]+|\+)(/{_LEVEL})*(/#)?|(/{_LEVEL})+(/#)?|/?#)\z"  # not empty
SHARED_FILTER = rf"^(\$share/[^/+#\x00]+|\$queue)/{_FILTER}"
WILD_FILTER = rf"^{_FILTER}"  # that has a wildcard, and no beginning of a shared one
WILD, SHARED = "[+#]", r"^\$(share|queue)/"


def plain_filter(text: str) -> str:
    """The filter behind a shared subscription; $queue is EMQX's."""
    if text.startswith("$queue/"):
        return text.removeprefix("$queue/")
    if is_shared(text):
        return (split_shared(text) or ("", ""))[1]
    return text


def is_expanded(text: str) -> bool:
    """Whether a subscription is to a filter, which stands for topics; `C++`, `#1` and all else are names."""
    plain = plain_filter(text)
    return "\0" not in text and is_filter(plain) and (is_wild(plain) or plain != text)


def are_filters(texts: pa.Array) -> pa.Array:
    """Whether each subscription is to a filter; null where the text is."""
    shared, plain, wild, begun = (
        pc.match_substring_regex(texts, rule) for rule in (SHARED_FILTER, WILD_FILTER, WILD, SHARED)
    )
    return pc.or_(shared, pc.and_(pc.and_(plain, wild), pc.invert(begun)))


def named_topics(subscribed: Iterable[str]) -> set[str]:
    """Topics that are subscribed to by name; what begins with $ is a broker's own, as $SYS, and crosses no bridge."""
    return {text for text in map(plain_filter, subscribed) if is_name(text) and not text.startswith("$")}


def finder(topics: Sequence[str]) -> Find:
    """Finds the topics that a filter of MQTT matches; names are indexed by level when the first wildcard comes."""
    numbers = {name: number for number, name in enumerate(topics)}

    @cache
    def by_level() -> NameIndex[int]:
        index: NameIndex[int] = NameIndex()
        for name, number in numbers.items():
            index[name] = number
        return index

    def find(pattern: str) -> list[int]:
        if not is_wild(pattern):
            return [numbers[pattern]] if pattern in numbers else []
        return sorted(number for _, number in by_level().find(pattern))

    return find


def known_topics(listed: Iterable[str], subscribed: Iterable[str]) -> list[str]:
    return sorted({*listed, *named_topics(subscribed)}, key=str.encode)


def expanded(filters: pa.Array, topics: Sequence[str]) -> tuple[Int64s, pa.Array, list[str]]:
    """All topics that the filters stand for: the place of the filter, and the name; and filters that match none."""
    encoded = filters.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    find = finder(topics)
    found = [np.array(list(find(plain_filter(text))), np.int64) for text in texts]
    place = encoded.indices.to_numpy(zero_copy_only=False)
    counts = np.array([len(each) for each in found], np.int64)[place]
    numbers = np.concatenate([np.empty(0, np.int64), *(found[each] for each in place)])
    names = pa.array(topics, pa.string()).take(pa.array(numbers, pa.int64()))
    return (
        np.repeat(np.arange(len(place)), counts),
        names,
        [t for t, each in zip(texts, found, strict=True) if not len(each)],
    )


def unlisted(text: str, where: str) -> WeftError:
    """The error of a subscription to a filter where no topics are listed."""
    return WeftError(
        f"{where} has subscriptions to filters, such as {text!r}, and not the topics that they stand for: list those "
        "that are published on with `topics`.",
        "topics",
    )
