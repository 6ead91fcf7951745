"""PopSub among systems: on trees it costs what its messages are, and delivers what every router does."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from pyspark.sql import SparkSession

import weft
from weft.errors import WeftError
from weft.model.latency import ConstantLatency
from weft.pipeline.popsub import sweep_on_spark
from weft.protocol.popsub.parameters import Way
from weft.sim.catalog import SYSTEMS
from weft.sim.popsub_case import Case, Plan, Sweep, figures_of_sweep

ROUTERS = [name for name in SYSTEMS if name.startswith("popsub-")]


@pytest.fixture(scope="module")
def instance() -> weft.Instance:
    return weft.generate("zipf", nodes=40, topics=15, subscriptions=4, seed=2)


@pytest.fixture(scope="module")
def said(instance: weft.Instance) -> weft.Publications:
    return weft.publications(instance, 400, seed=1, by="anyone")


@pytest.mark.parametrize("shape", ["tree", "star"])
def test_over_a_tree_messages_are_the_links_between_a_publisher_and_its_subscribers(instance, said, shape) -> None:
    overlay = weft.design(instance, shape, seed=1)
    tree = nx.Graph(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))
    messages = relays = deliveries = hops = longest = 0
    for topic, issuer in zip(said.topics.tolist(), said.nodes.tolist(), strict=True):
        wanting = set(instance.subscribers[topic].tolist()) - {issuer}
        paths = [nx.shortest_path(tree, issuer, node) for node in wanting]
        links = {link for path in paths for link in pairwise(path)}
        messages += len(links)
        relays += sum(target not in wanting for _, target in links)
        deliveries += len(wanting)
        lengths = [len(path) - 1 for path in paths]
        hops, longest = hops + sum(lengths), max([longest, *lengths])
    found = weft.evaluate(instance, overlay, "popsub-tree", said, latency=ConstantLatency(40, 6.0))
    assert (found.messages, found.routing_overhead, found.deliveries) == (messages, relays, deliveries)
    assert (found.average_path, found.maximum_path) == (pytest.approx(hops / deliveries), longest)
    assert found.times is not None
    assert found.times.delivery.mean == pytest.approx(3 * found.average_path, rel=0.05)  # and a little to send
    assert found.load.sent.mean == pytest.approx(messages / 40)


@pytest.mark.parametrize("router", ROUTERS)
def test_every_way_delivers_what_weave_does(instance, said, router) -> None:
    overlay = weft.design(instance, "tree", seed=1)
    found, weave = (weft.evaluate(instance, overlay, name, said, per_topic=True) for name in (router, "weave"))
    assert found.deliveries == found.expected_deliveries == weave.deliveries
    assert found.topics is not None
    assert weave.topics is not None
    assert np.array_equal(found.topics["deliveries"], weave.topics["deliveries"])
    assert found.topics["messages"].sum() == found.messages
    assert 1 <= found.average_path <= found.maximum_path


def test_popsub_needs_a_tree(instance, said) -> None:
    with pytest.raises(WeftError, match="is none: design tree or star"):
        weft.evaluate(instance, weft.design(instance, "random", seed=1), "popsub-batch", said)


def test_popsub_stands_among_systems(instance) -> None:
    trials = weft.compare(instance, ["tree", "random"], ["weave", "popsub-tree"], seeds=1, publications=100)
    assert ("tree", "popsub-tree") in trials.systems
    assert ("random", "popsub-tree") in trials.left_out


def test_a_sweep_on_spark_is_that_of_this_process(spark: SparkSession, tmp_path) -> None:
    files = {
        "links": "a,b,ms\nx,y,4\ny,z,6\n",
        "advertisements": "id,broker,class,filter\na,x,c,\nb,z,c,\n",
        "subscriptions": "id,broker,class,filter\ns,y,c,p > 1\nt,z,c,\nu,x,c,not p > 2\n",
        "publications": 'advertisement,rate,p\na,5,"integers(0, 4)"\nb,3,2\n',
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    case = Case(**{name: str(tmp_path / f"{name}.csv") for name in files}, seconds=5.0)
    plans = Plan(0.001), Plan(0.5)
    sweeps = [Sweep(case, (Way.TREE, Way.DIRECT, Way.GOSSIP), plans, seed) for seed in (1, 2)]
    here = [figures_of_sweep(sweep) for sweep in sweeps]
    assert sweep_on_spark(spark, sweeps) == here
    assert [way["unpopular"] for way in here[0]["ways"]] == ["tree", "direct", "gossip", "direct", "gossip"]
    assert here[0] != here[1]
