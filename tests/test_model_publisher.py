"""Publishers: in files, in samples, and in the publications that are drawn."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from weft.errors import WeftError
from weft.model.instance import instance_from_pairs, read_instance
from weft.model.publication import Publications, read_rates
from weft.model.publisher import FILE, Publishers, own_topics
from weft.model.storage import write_columns
from weft.workloads.catalog import generate
from weft.workloads.publication import publications
from weft.workloads.sample import Sampling, sample


def some_instance(**given):
    return instance_from_pairs([0, 1, 1, 2], [0, 0, 1, 1], node_count=4, topic_count=3, **given)


def with_publishers(instance, nodes, topics, rates):
    given = Publishers(np.array(nodes, np.int32), np.array(topics, np.int32), np.array(rates, np.float64))
    return type(instance)(instance.interest, meta=instance.meta, given_publishers=given)


def triples(publishers):
    return list(zip(publishers.nodes.tolist(), publishers.topics.tolist(), publishers.rates.tolist(), strict=True))


def test_users_of_a_social_instance_publish_on_their_own_topics(tmp_path):
    made = generate("social", nodes=30, seed=1)
    assert triples(made.publishers) == [(user, user, 1.0) for user in range(30)]
    made.write(tmp_path / "i")
    assert triples(read_instance(tmp_path / "i").publishers) == triples(made.publishers)


def test_of_others_nothing_is_known_unless_they_say(tmp_path):
    plain = some_instance()
    assert plain.publishers is None
    plain.write(tmp_path / "plain")
    assert not (tmp_path / "plain" / FILE).exists()
    told = with_publishers(plain, [3, 0], [1, 2], [0.5, 2.0])
    told.write(tmp_path / "told")
    assert triples(read_instance(tmp_path / "told").publishers) == [(3, 1, 0.5), (0, 2, 2.0)]


def test_publishers_do_not_change_what_an_instance_is():
    """An overlay that was made for it without them is still its own."""
    assert with_publishers(some_instance(), [3], [1], [1.0]).fingerprint == some_instance().fingerprint


def test_with_publishers_as_if_they_subscribed():
    told = with_publishers(some_instance(), [3, 1], [1, 1], [1.0, 1.0])
    assert told.with_publishers.subscribers[1].tolist() == [1, 2, 3]
    assert told.subscribers[1].tolist() == [1, 2]


def test_a_topic_without_known_publishers_has_the_mean_rate_of_the_others():
    rates = with_publishers(some_instance(), [3, 1, 0], [1, 1, 0], [1.0, 3.0, 2.0]).publishers.topic_rates(3)
    assert rates.tolist() == [2.0, 4.0, 3.0]


@pytest.mark.parametrize("social", [True, False])
def test_a_sample_keeps_the_publishers_of_its_nodes_and_topics(social):
    rng = np.random.default_rng(1)
    nodes, topics = np.nonzero(rng.random((40, 40)) < 0.1)
    whole = instance_from_pairs(nodes, topics, node_count=40, topic_count=40, social=social)
    told = with_publishers(whole, np.arange(40), np.arange(40)[::-1], np.arange(40.0))
    part = sample(told, Sampling(15, seed=2))
    old_node, old_topic = (names.astype(int).tolist() for names in (part.node_names, part.topic_names))
    found = {(old_node[node], old_topic[topic], rate) for node, topic, rate in triples(part.publishers)}
    assert found == {row for row in triples(told.publishers) if row[0] in old_node and row[1] in old_topic}


def test_publications_are_drawn_by_the_rates_of_publishers():
    told = with_publishers(some_instance(), [3, 0, 2, 1], [1, 0, 2, 0], [3.0, 1.0, 9.0, 0.0])
    drawn = publications(told, 4000, seed=1, by="publisher")
    pairs = list(zip(drawn.nodes.tolist(), drawn.topics.tolist(), strict=True))
    assert set(pairs) == {(3, 1), (0, 0)}  # topic 2 has no subscribers
    assert pairs.count((3, 1)) == pytest.approx(3000, abs=120)


def test_publishers_that_nobody_knows_cannot_be_drawn():
    with pytest.raises(WeftError, match="does not say who publishes"):
        publications(some_instance(), 3, seed=1, by="publisher")
    with pytest.raises(WeftError, match="No known publisher has subscribers"):
        publications(with_publishers(some_instance(), [0], [2], [1.0]), 3, seed=1, by="publisher")


@pytest.mark.parametrize(
    ("nodes", "topics", "rates", "told"),
    [
        ([4], [0], [1.0], "names nodes that the instance does not have: it has 4"),
        ([0], [3], [1.0], "names topics that the instance does not have: it has 3"),
        ([0], [0], [-1.0], "no number from 0"),
        ([0], [0], [np.inf], "no number from 0"),
        ([0, 0], [1, 1], [1.0, 1.0], "names a node and a topic twice"),
    ],
)
def test_wrong_files_of_publishers_are_errors(tmp_path, nodes, topics, rates, told):
    some_instance().write(tmp_path / "i")
    columns = {"node": np.array(nodes), "topic": np.array(topics), "rate": np.array(rates)}
    write_columns(tmp_path / "i" / FILE, columns)
    with pytest.raises(WeftError, match=told):
        read_instance(tmp_path / "i")


def test_rates_are_read_or_counted(tmp_path):
    write_columns(tmp_path / "rates.parquet", {"topic": np.array([2, 0]), "rate": np.array([0.5, 3.0])})
    assert read_rates(tmp_path / "rates.parquet", some_instance()).tolist() == [3.0, 0.0, 0.5]
    Publications(np.int32([1, 1, 2]), np.int32([0, 1, 2])).write(tmp_path / "p.parquet")
    assert read_rates(tmp_path / "p.parquet", some_instance()).tolist() == [0.0, 2.0, 1.0]


def test_wrong_rates_are_errors(tmp_path):
    write_columns(tmp_path / "negative.parquet", {"topic": np.array([0]), "rate": np.array([-1.0])})
    write_columns(tmp_path / "unknown.parquet", {"topic": np.array([3]), "rate": np.array([1.0])})
    with pytest.raises(WeftError, match=r"has the rate -1.0: give numbers from 0"):
        read_rates(tmp_path / "negative.parquet", some_instance())
    with pytest.raises(WeftError, match="names topics that the instance does not have: it has 3"):
        read_rates(tmp_path / "unknown.parquet", some_instance())
    with pytest.raises(WeftError, match="does not exist"):
        read_rates(tmp_path / "nowhere.parquet", some_instance())


def test_a_rate_or_size_of_zero_is_a_number(tmp_path):
    write_columns(tmp_path / "rates.parquet", {"topic": np.array([0]), "rate": np.array([0.0])})
    assert read_rates(tmp_path / "rates.parquet", some_instance()).tolist() == [0.0, 0.0, 0.0]
    some_instance().write(tmp_path / "i")
    columns = {"node": np.array([0]), "topic": np.array([0]), "rate": np.array([0.0]), "size": np.array([0.0])}
    write_columns(tmp_path / "i" / FILE, columns)
    assert read_instance(tmp_path / "i").publishers.sizes.tolist() == [0.0]
    write_columns(tmp_path / "i" / FILE, {**columns, "size": np.array([-1.0])})
    with pytest.raises(WeftError, match="size that is no number of bytes"):
        read_instance(tmp_path / "i")


def test_a_topic_on_which_nobody_publishes_has_the_mean_size_of_the_others():
    given = Publishers(np.int32([0, 1, 2]), np.int32([0, 0, 1]), np.array([1.0, 3.0, 4.0]), np.array([8.0, 4.0, 1.0]))
    assert given.topic_sizes(3).tolist() == [5.0, 1.0, 3.0]
    assert own_topics(3).topic_sizes(3) is None


def test_publications_are_written_with_the_names_that_there_are(tmp_path):
    names = {"node_names": np.array(["a", "b", "c", "d"], dtype=object)}
    Publications(np.int32([1]), np.int32([2])).write(tmp_path / "p.parquet", instance=some_instance(**names))
    row = {"publication": [0], "topic": [1], "node": [2], "node_name": ["c"]}
    assert pq.read_table(tmp_path / "p.parquet").to_pydict() == row


def test_own_topics_of_nobody():
    assert len(own_topics(0)) == 0
