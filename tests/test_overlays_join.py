import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links
from weft.model.union import union
from weft.overlays.catalog import design
from weft.overlays.join import joined
from weft.overlays.verify import topic_violations


def pairs(overlay, first=0):
    return set(zip((first + overlay.sources).tolist(), (first + overlay.targets).tolist(), strict=True))


@given(
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=5),
    topics=st.integers(1, 12),
    density=st.sampled_from([0.05, 0.3, 1.0]),
    method=st.sampled_from(["star", "naive"]),
    builder=st.sampled_from(["gm", "dc", "ring-per-topic"]),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=80)
def test_a_joined_overlay_is_topic_connected_and_keeps_all_links(sizes, topics, density, method, builder, seed):
    instances = [random_instance(seed + i, size, topics, density) for i, size in enumerate(sizes)]
    overlays = [design(instance, builder, seed=seed) for instance in instances]
    whole = union(instances)
    made = joined(whole, overlays, seed=seed, method=method)
    assert topic_violations(whole, made) == []
    firsts = np.append(0, np.cumsum(sizes))
    given_links = set().union(*(pairs(each, first) for first, each in zip(firsts, overlays, strict=False)))
    assert given_links <= pairs(made)
    group = np.repeat(np.arange(len(sizes)), sizes)
    new = np.array(sorted(pairs(made) - given_links), int).reshape(-1, 2)
    assert np.all(group[new[:, 0]] != group[new[:, 1]])
    assert made.meta["links_across"] == len(new)


def test_naive_merge_of_single_nodes_is_gm():
    """MinAvg-TCO is the join of overlays of one node each (section III)."""
    instance = random_instance(3, 40, 10, 0.3)
    alone = [overlay_from_links(1, [], []) for _ in range(40)]
    assert pairs(joined(instance, alone, seed=5, method="naive")) == pairs(design(instance, "gm", seed=5))


def test_what_is_not_connected_cannot_be_joined():
    instance = instance_from_pairs([0, 1, 2, 3], [0, 0, 0, 0])
    apart, linked = overlay_from_links(2, [], []), overlay_from_links(2, [0], [1])
    with pytest.raises(WeftError, match=r"Overlay 2 is not topic-connected.* Topic 0 is in 2 parts"):
        joined(instance, [linked, apart], seed=1)
    with pytest.raises(WeftError, match="2 nodes together and the instance 4"):
        joined(instance, [linked], seed=1)


def test_topics_are_the_same_by_name():
    names = lambda *given: np.array(given, object)  # noqa: E731
    one = instance_from_pairs([0, 1], [0, 1], node_names=names("a", "b"), topic_names=names("rain", "snow"))
    other = instance_from_pairs([0, 0], [0, 1], node_names=names("c"), topic_names=names("snow", "wind"))
    whole = union([one, other])
    assert [[whole.topic_names[t] for t in whole.interest[v]] for v in range(3)] == [
        ["rain"],
        ["snow"],
        ["snow", "wind"],
    ]
    assert whole.node_names.tolist() == ["a", "b", "c"]
    with pytest.raises(WeftError, match="Node a is in more than one"):
        union([one, one])
    with pytest.raises(WeftError, match="nobody knows which are the same"):
        union([one, instance_from_pairs([0], [0])])


def test_without_names_topics_are_the_same_by_number():
    whole = union([instance_from_pairs([0], [2]), instance_from_pairs([1], [0], topic_count=5)])
    assert whole.counts == {"nodes": 3, "topics": 5, "subscriptions": 2}
    assert whole.interest[0].tolist() == [2]
    assert whole.interest[2].tolist() == [0]
