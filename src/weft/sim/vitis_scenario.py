"""Vitis' experiment (section 4): nodes join one after the other, warm up, publish; and what it cost.

"When the warm-up period is over, the topology is in a stable state": so the warm-up ends when the tables have stopped
changing, which is when less than a share `settled` of their peers comes or goes in a round. That is a mean over some
rounds: a network with a failure that nobody has noticed yet does not change either.

All is drawn from one seed: the order in which nodes join and their contacts, issuers and topics. Publications go out
while the gossip goes on, a few in each round. With churn (section 4.3) half of the nodes join and publish half of the
publications before the others join.

What is published in a round spreads over the network as it stands, and has arrived before the next, so that there is
nothing to wait for at the end (the paper's cool-down).
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.kernels.vitis.dissemination import Reach
from weft.kernels.vitis.state import NOBODY
from weft.model.instance import Instance, instance_from_pairs
from weft.model.latency import Latency
from weft.model.overlay import overlay_from_links
from weft.model.places import Places
from weft.overlays.quality import topic_subgraph
from weft.protocol.vitis.parameters import Parameters
from weft.sim.tally import Tally
from weft.sim.vitis import VitisNetwork

WINDOW = 8  # rounds, beside the patience of nodes, over which changes are counted: two exchanges along the ring


@dataclass(frozen=True)
class Scenario:
    publications: int = 1000  # from 0
    per_round: int = 20  # publications, from 1
    settled: float = 0.0002  # share of the tables' peers that changes in a round, at most, in a stable state; above 0
    most_rounds: int = 1000  # of a warm-up, which ends then even if tables still change; from 1
    join_interval: float = 100.0  # milliseconds, from 0
    churn: bool = False  # nodes and publications come in two halves

    def __post_init__(self) -> None:
        for name, least in {"publications": 0, "per_round": 1, "most_rounds": 1, "join_interval": 0}.items():
            if not getattr(self, name) >= least:
                raise WeftError(f"{name} of Vitis' scenario is {getattr(self, name)}: give at least {least}.")
        if not self.settled > 0:
            raise WeftError(f"settled of Vitis' scenario is {self.settled}: give a share above 0.")


def simulate(
    instance: Instance,
    latency: Latency,
    parameters: Parameters,
    scenario: Scenario,
    seed: int,
    *,
    rates: Floats | None = None,  # publications on every topic in some time; equal without
    weigh_rates: bool = True,  # let nodes know the rates; else they are only published by them
    places: Places | None = None,  # of the nodes, to count what goes between
) -> dict[str, Any]:
    """The figures of a run."""
    network = VitisNetwork(instance, latency, parameters, seed, rates if weigh_rates else None, places)
    rng = np.random.default_rng(seed)
    order = rng.permutation(instance.nodes)
    parts = np.array_split(order, 2) if scenario.churn else [order]
    tally, upkeep = Tally(instance.nodes, places), []
    healing = Healing(0, 0, 1.0)
    for part, publications in zip(parts, _shares(scenario.publications, len(parts)), strict=True):
        join_all(network, part, scenario.join_interval, rng)
        healing = _heal(network, scenario, rng)
        for now in _shares(publications, -(-publications // scenario.per_round)):
            network.step()
            upkeep.append(network.upkeep / int(network.there.sum()))
            for topic, issuer in drawn(network, now, rng, rates):
                publish(network, topic, issuer, tally)
    return {
        **tally.figures(),
        **asdict(healing),  # after the last has joined
        "rounds": network.round,
        "upkeep_messages": float(np.mean(upkeep)) if upkeep else 0.0,  # of a node in a round
        **overlay_figures(network, rates),
    }


def after_failure(
    instance: Instance, latency: Latency, parameters: Parameters, scenario: Scenario, seed: int, share: float
) -> dict[str, Any]:
    """How a network heals when a share of its nodes fails at once; from 0 to below 1."""
    if not 0 <= share < 1:
        raise WeftError(f"{share} of the nodes cannot fail: give a share from 0 to below 1.")
    network = VitisNetwork(instance, latency, parameters, seed)
    rng = np.random.default_rng(seed)
    join_all(network, rng.permutation(instance.nodes), scenario.join_interval, rng)
    for _ in until_settled(network, scenario):
        pass
    network.fail(rng.permutation(instance.nodes)[: round(share * instance.nodes)])
    return asdict(_heal(network, scenario, rng))


@dataclass(frozen=True)
class Healing:
    rounds_to_settle: int | None  # after which tables had stopped changing; None if that never came
    rounds_to_heal: int | None  # after which every subscriber got every publication; None if that never came
    lowest_hit_ratio: float  # of a round


def _heal(network: VitisNetwork, scenario: Scenario, rng: np.random.Generator) -> Healing:
    """Warms up, and publishes meanwhile to see what is delivered; nothing of it is counted elsewhere."""
    ratios = []
    for _ in until_settled(network, scenario):
        tally = Tally(network.instance.nodes)
        for topic, issuer in drawn(network, scenario.per_round, rng):
            publish(network, topic, issuer, tally)
        ratios.append(tally.hit_ratio)
    missed = np.flatnonzero(np.array(ratios) < 1.0)
    rounds = int(missed[-1]) + 1 if len(missed) else 0
    return Healing(
        rounds_to_settle=len(ratios) if len(ratios) < scenario.most_rounds else None,
        rounds_to_heal=rounds if rounds < len(ratios) else None,
        lowest_hit_ratio=min(ratios),
    )


def until_settled(network: VitisNetwork, scenario: Scenario) -> Iterator[int]:
    """Goes from round to round until the tables have stopped changing."""
    window = network.parameters.patience + WINDOW
    turnovers: list[float] = []
    while len(turnovers) < scenario.most_rounds and not (
        len(turnovers) >= window and fmean(turnovers[-window:]) < scenario.settled
    ):
        network.step()
        turnovers.append(network.turnover)
        yield len(turnovers)


def join_all(network: VitisNetwork, nodes: Int64s, interval: float, rng: np.random.Generator) -> None:
    """Let all nodes join one after the other, each through a node that joined before it."""
    members = np.flatnonzero(network.there).tolist()
    rounds = (np.arange(len(nodes)) * interval // network.parameters.period).astype(np.int64)
    for together in np.split(nodes, np.flatnonzero(np.diff(rounds)) + 1):
        for node in together.tolist():
            network.join(node, members[rng.integers(len(members))] if members else None)
            members.append(node)
        network.step()


def drawn(
    network: VitisNetwork, count: int, rng: np.random.Generator, rates: Floats | None = None
) -> Iterable[tuple[int, int]]:
    """Topics and their issuers: a node that is there, uniformly, and one of its interests; none if nobody has any.

    With rates, topics are drawn by these, and each one's issuer uniformly among the subscribers that are there.
    """
    interest = network.interest
    if rates is None:
        able = np.flatnonzero(network.there & (interest.counts > 0))
        for issuer in rng.choice(able, size=count).tolist() if len(able) else []:
            yield int(rng.choice(interest[issuer])), issuer
        return
    there = network.there[interest.row_of_each()]
    audience = np.bincount(interest.indices[there], minlength=network.instance.topics)
    weights = rates * (audience > 0)
    if not weights.sum():
        return
    for topic in rng.choice(len(weights), size=count, p=weights / weights.sum()).tolist():
        subscribers = network.subscribers[topic]
        yield topic, int(rng.choice(subscribers[network.there[subscribers]]))


def publish(network: VitisNetwork, topic: int, issuer: int, tally: Tally) -> Reach:
    """Publish, and count what comes of it."""
    reach = network.publish(topic, issuer, tally.between)
    subscribers = network.subscribers[topic]
    expected = subscribers[network.there[subscribers] & (subscribers != issuer)]
    got = expected[reach.hops[expected] != NOBODY]
    relayed = reach.hops > 0
    relayed[subscribers] = False
    tally.expected += len(expected)
    tally.notifications += int(reach.notifications.sum())
    tally.relay_notifications += int(reach.notifications.sum() - reach.notifications[subscribers].sum())
    tally.deliver(got, reach.hops[got], reach.time[got], reach.notified[got])
    tally.relayed[relayed] += 1
    return reach


def overlay_figures(network: VitisNetwork, rates: Floats | None) -> dict[str, Any]:
    clusters, _ = clusters_of(network)
    wanted = max(int(np.count_nonzero(clusters)), 1)  # topics
    degrees = np.diff(network.link_starts)[network.there]
    by_rate = None if rates is None else float((clusters * rates).sum()) / max(float(rates[clusters > 0].sum()), 1e-300)
    return {
        "clusters": int(clusters.sum()) / wanted,  # of a topic
        **({} if by_rate is None else {"clusters_by_rate": by_rate}),  # of a topic, as often as it is published on
        "cluster_size": len(network.pairs()[0]) / max(int(clusters.sum()), 1),  # nodes
        "gateways": len(network.gateway_pairs()) / wanted,
        "degree": float(degrees.mean()) if len(degrees) else 0.0,
        "maximum_degree": int(degrees.max(initial=0)),
    }


def clusters_of(network: VitisNetwork) -> tuple[Int64s, Int64s]:
    """How many clusters every topic has, and the sizes of all, topic by topic, of the nodes that are there."""
    table, instance = network.gossip.table, network.instance
    node, at = network.pairs()
    topics = network.setting.topics[at]
    present = instance_from_pairs(node, topics, node_count=instance.nodes, topic_count=instance.topics)
    sources, places = np.nonzero(table != NOBODY)
    overlay = overlay_from_links(instance.nodes, sources, table[sources, places])
    graph = topic_subgraph(present, overlay)
    _, cluster = csgraph.connected_components(graph, directed=False)
    sizes = np.bincount(cluster)
    first = np.unique(cluster, return_index=True)[1]
    counts = np.bincount(present.subscribers.row_of_each()[first], minlength=instance.topics)
    return counts.astype(np.int64), sizes.astype(np.int64)


def _shares(total: int, parts: int) -> list[int]:
    return [len(part) for part in np.array_split(np.arange(total), parts)] if parts else []
