import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance
from weft.errors import WeftError
from weft.model.overlay import require_made_for
from weft.overlays.catalog import design
from weft.overlays.repair import changed, joined, left
from weft.overlays.verify import topic_violations

TOPICS = 8


def pairs(overlay):
    return set(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))


@given(
    seed=st.integers(0, 2**32),
    nodes=st.integers(1, 25),
    density=st.sampled_from([0.1, 0.4, 0.9]),
    builder=st.sampled_from(["gm", "dc", "ring-per-topic"]),
    steps=st.lists(
        st.tuples(st.sampled_from(["join", "leave", "change"]), st.sets(st.integers(0, TOPICS - 1)), st.integers(0)),
        max_size=12,
    ),
)
@settings(deadline=None, max_examples=60)
def test_it_stays_topic_connected_and_keeps_its_links(seed, nodes, density, builder, steps):
    instance = random_instance(seed, nodes, TOPICS, density)
    overlay = design(instance, builder, seed=seed)
    for step, topics, number in steps:
        before, node = pairs(overlay), number % instance.nodes
        if step == "join":
            node = instance.nodes
            instance, overlay = joined(instance, overlay, sorted(topics), seed=seed)
            assert all(node in link for link in pairs(overlay) - before)
        elif step == "leave":
            instance, overlay = left(instance, overlay, node, seed=seed)
            topics = set()
        else:
            instance, overlay = changed(instance, overlay, node, sorted(topics), seed=seed)
        assert set(instance.interest[node].tolist()) == topics
        assert topic_violations(instance, overlay) == []
        require_made_for(instance, overlay)
        kept = {link for link in before if topics or node not in link}
        assert kept <= pairs(overlay)
        assert topics or not any(node in link for link in pairs(overlay))


def test_other_nodes_keep_their_interests():
    instance = random_instance(1, 20, TOPICS, 0.4)
    after, _ = left(instance, design(instance, "gm", seed=1), 5, seed=1)
    for node in set(range(20)) - {5}:
        assert np.array_equal(after.interest[node], instance.interest[node])


@pytest.mark.parametrize(
    ("node", "topics", "sentence"), [(9, [0], "no node 9"), (8, [TOPICS], "topic 8 is out of range")]
)
def test_mistakes_are_told(node, topics, sentence):
    instance = random_instance(1, 8, TOPICS, 0.4)
    with pytest.raises(WeftError, match=sentence):
        changed(instance, design(instance, "gm", seed=1), node, topics, seed=1)
