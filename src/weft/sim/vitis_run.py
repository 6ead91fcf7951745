"""Vitis for one's own instance: a network from its first node to its last publication, and what it did.

Nodes join one after the other and gossip until the tables have settled; that is the beginning. From then on
publications go out in every round, while churn, if there is any, lets nodes and subscriptions come and go. It ends when
all is published and the network has settled after the last change.

A delivery that is lost is explained by a change as long as the network has not settled since; `hit_ratio` is of the
publications of all other rounds, and losses in those are unexplained.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa

from weft.arrays import Floats
from weft.errors import WeftError
from weft.model.churn import Change, ChurnSchedule
from weft.model.instance import Instance
from weft.model.latency import ConstantLatency, Latency
from weft.model.places import Places, places_of
from weft.model.publication import Publications
from weft.model.seed import require_seed
from weft.model.table import Columns, Table
from weft.overlays.quality import distribution
from weft.protocol.vitis.parameters import LOCALITY, Form, Parameters
from weft.sim.tally import Tally
from weft.sim.vitis import VitisNetwork
from weft.sim.vitis_check import check_agreement
from weft.sim.vitis_scenario import (
    WINDOW,
    Scenario,
    clusters_of,
    drawn,
    join_all,
    overlay_figures,
    publish,
    until_settled,
)

ROUND_COLUMNS = (
    "round",
    "time",
    "nodes",
    "changes",
    "settled",
    "publications",
    "expected_deliveries",
    "deliveries",
    "hit_ratio",
    "delivery_time",
    "relays_per_delivery",
    "gateways",
    "upkeep_messages",
)


@dataclass(frozen=True, eq=False)
class VitisRounds(Table):
    """A row a round, from the beginning on."""

    rows: tuple[Mapping[str, Any], ...]

    @property
    def columns(self) -> Columns:
        return {name: pa.array([row[name] for row in self.rows]) for name in ROUND_COLUMNS}


@dataclass(frozen=True, eq=False)
class VitisNodes(Table):
    """A row a node."""

    columns_: Columns

    @property
    def columns(self) -> Columns:
        return self.columns_


@dataclass(frozen=True, eq=False)
class VitisRun:
    figures: Mapping[str, Any]
    rounds: VitisRounds
    nodes: VitisNodes

    def __repr__(self) -> str:
        figures = self.figures
        return (
            f"VitisRun({figures['nodes']:,} nodes, {figures['deliveries']:,} deliveries, hit ratio "
            f"{figures['hit_ratio']}, {figures['relays_per_delivery']:.3f} relays a delivery)"
        )


def simulate_vitis(
    instance: Instance,
    latency: Latency | None = None,
    publications: Publications | int = 1000,
    *,
    exponent: float | None = None,
    utility: Form = "product",
    floor: float = 1.0,
    measured: bool = False,
    table: int = 30,
    small_world: int = 2,
    in_degree: int | None = None,
    gateway_hops: int = 5,
    gateway_step: int | None = None,
    rates: Floats | Sequence[float] | None = None,
    places: Places | Sequence[str] | None = None,
    churn: ChurnSchedule | None = None,
    per_round: int = 20,
    join_interval: float = 100.0,
    check: int = 0,
    seed: int = 1,
) -> VitisRun:
    """Vitis on an instance: its figures, those of every round, and those of every node.

    latency        round-trip times; without, all are 1 ms
    publications   how many at least, or those to send, in this order
    exponent       n in formula (1); 0 is without locality; None: 0.25 with latencies, 0 without
    utility        "product" as printed, or "sum" of similarity and closeness
    floor          milliseconds that a shorter round trip counts for
    measured       nodes know the round trips of their links and estimate others; else they know all
    table          links that a node opens
    small_world    of them chosen by distance on the ring
    in_degree      nodes that may have a node as their friend; None: as many as like
    gateway_hops   hops between a node and the first gateway of its cluster at most
    gateway_step   a further gateway for every so many hops from the first; None: no other
    rates          how often topics are published on, for each topic; None: as the instance says, else all alike
    places         of the nodes, as `eu/fra/a`: what goes from one to another is counted
    churn          nodes and subscriptions that come and go from the beginning on
    per_round      publications of a round, which is a second
    join_interval  milliseconds between two nodes that join before the beginning
    check          rounds that nodes of the protocol itself go through first, message by message, to compare
    seed           draws identifiers, contacts and publications
    """
    count = publications if isinstance(publications, int) else len(publications)
    if count < 1:
        raise WeftError(f"`publications` {count} is out of range: give at least 1.", "publications")
    if not instance.subscriptions:
        raise WeftError("The instance has no subscriptions: no publication would reach anyone.")
    parameters = Parameters(
        table=table,
        small_world=small_world,
        in_degree=in_degree,
        gateway_hops=gateway_hops,
        gateway_step=gateway_step,
        expiry=max(Parameters.expiry, gateway_hops + 3),
        exponent=(0.0 if latency is None else LOCALITY) if exponent is None else exponent,
        utility=utility,
        floor=floor,
        measured=measured,
    )
    known = latency or ConstantLatency(instance.nodes)
    where = places if places is None or isinstance(places, Places) else places_of(places)
    scenario = Scenario(count, per_round, join_interval=join_interval)
    checked = check_agreement(instance, known, parameters, seed, check) if check else None
    network = VitisNetwork(instance, known, parameters, require_seed(seed), _rates(instance, rates), where)
    return _Course(network, scenario, publications, _rates(instance, rates), churn, where, seed).run(checked)


def _rates(instance: Instance, rates: Floats | Sequence[float] | None) -> Floats | None:
    if rates is None:
        known = instance.known_publishers
        return None if known is None else known.topic_rates(instance.topics)
    found = np.asarray(rates, np.float64)
    if found.shape != (instance.topics,):
        raise WeftError(f"`rates` has {found.size} numbers, and there are {instance.topics} topics.", "rates")
    wrong = np.flatnonzero(~((found >= 0) & (found < np.inf)))
    if len(wrong):
        name = instance.topic_name(int(wrong[0]))
        raise WeftError(f"`rates` has {found[wrong[0]]:g} for topic {name}: give numbers from 0.", "rates")
    return found


class _Course:
    """A run under way."""

    def __init__(
        self,
        network: VitisNetwork,
        scenario: Scenario,
        publications: Publications | int,
        rates: Floats | None,
        churn: ChurnSchedule | None,
        places: Places | None,
        seed: int,
    ) -> None:
        self.network, self.scenario, self.rates = network, scenario, rates
        self.rng = np.random.default_rng(seed)
        self.said = self._drawn() if isinstance(publications, int) else self._given(publications)
        self.given = None if isinstance(publications, int) else len(publications)
        self.pending = [] if churn is None else list(churn)
        self.absent = set() if churn is None else churn.absent_at_first
        self.tally, self.quiet = Tally(network.instance.nodes, places), Tally(network.instance.nodes)
        self.sent = np.zeros(network.instance.nodes, np.int64)
        self.by_hops: dict[int, int] = {}
        self.unsaid = 0  # publications of nodes that were not there
        self.turnovers: list[float] = []
        self.rows: list[dict[str, Any]] = []

    def run(self, checked: int | None) -> VitisRun:
        network, scenario = self.network, self.scenario
        nodes = np.array([node for node in range(network.instance.nodes) if node not in self.absent], np.int64)
        join_all(network, self.rng.permutation(nodes), scenario.join_interval, self.rng)
        warm_up = sum(1 for _ in until_settled(network, scenario))
        is_settled = warm_up < scenario.most_rounds
        rounds_to_settle, begin = warm_up if is_settled else None, network.round
        since_change = 0 if is_settled else scenario.most_rounds  # what has not settled so far will not do so
        while self._goes_on(is_settled, since_change):
            changes = self._change((network.round - begin) * network.parameters.period / 1000.0)
            network.step()
            since_change = 0 if changes else since_change + 1
            self.turnovers = [] if changes else [*self.turnovers, network.turnover][-self._window :]
            is_settled = not changes and (is_settled or self._has_settled())
            self.rows.append(self._publish(network.round - begin, changes, is_settled))
        figures = self._figures(rounds_to_settle)
        if checked is not None:
            figures["checked_messages"] = checked
        return VitisRun(figures, VitisRounds(tuple(self.rows)), self._nodes())

    @property
    def _window(self) -> int:
        return self.network.parameters.patience + WINDOW

    def _has_settled(self) -> bool:
        return len(self.turnovers) == self._window and fmean(self.turnovers) < self.scenario.settled

    def _goes_on(self, is_settled: bool, since_change: int) -> bool:
        left = self.scenario.publications - sum(row["publications"] for row in self.rows) - self.unsaid
        return bool(self.pending) or left > 0 or (not is_settled and since_change < self.scenario.most_rounds)

    def _change(self, now: float) -> int:
        """Let happen what is due; what a node does after it has gone in this round waits for the next."""
        due = [each for each in self.pending if each.time <= now]
        waiting: list[Change] = []
        gone: set[int] = set()
        for change in due:
            if change.node in gone:
                waiting.append(change)
            else:
                self._apply(change)
                if change.event in ("leave", "fail"):
                    gone.add(change.node)
        self.pending = [*waiting, *self.pending[len(due) :]]
        return len(due) - len(waiting)

    def _apply(self, change: Change) -> None:
        network, node = self.network, change.node
        match change.event:
            case "join":
                others = np.flatnonzero(network.there)
                network.join(node, int(self.rng.choice(others)) if len(others) else None)
            case "leave":
                network.leave(node)
            case "fail":
                network.fail([node])
            case "subscribe":
                network.subscribe(node, change.topic)
            case "unsubscribe":
                network.unsubscribe(node, change.topic)

    def _drawn(self) -> Iterator[tuple[int, int]]:
        while True:
            some = list(drawn(self.network, self.scenario.per_round, self.rng, self.rates))
            if not some:
                return
            yield from some

    def _given(self, publications: Publications) -> Iterator[tuple[int, int]]:
        for topic, node in zip(publications.topics.tolist(), publications.nodes.tolist(), strict=True):
            if self.network.there[node]:
                yield topic, node
            else:
                self.unsaid += 1

    def _publish(self, number: int, changes: int, is_settled: bool) -> dict[str, Any]:
        network, nodes = self.network, self.network.instance.nodes
        now = Tally(nodes)
        said = 0
        for topic, issuer in self._of_this_round():
            said += 1
            now.between = self.tally.between
            reach = publish(network, topic, issuer, now)
            got = reach.source >= 0
            self.sent += np.bincount(reach.source[got], minlength=nodes)
            subscribers = network.subscribers[topic]
            for hops in reach.hops[subscribers][reach.hops[subscribers] > 0].tolist():
                self.by_hops[hops] = self.by_hops.get(hops, 0) + 1
        self.tally.add(now)
        if is_settled:
            self.quiet.add(now)
        figures, there = now.figures(), int(network.there.sum())
        return {
            "round": number,
            "time": number * network.parameters.period / 1000.0,
            "nodes": there,
            "changes": changes,
            "settled": is_settled,
            "publications": said,
            "expected_deliveries": now.expected,
            "deliveries": now.deliveries,
            "hit_ratio": figures["hit_ratio"],
            "delivery_time": figures["delivery_time"],
            "relays_per_delivery": figures["relays_per_delivery"],
            "gateways": len(network.gateway_pairs()),
            "upkeep_messages": network.upkeep / max(there, 1),
        }

    def _of_this_round(self) -> Iterator[tuple[int, int]]:
        for _ in range(self.scenario.per_round):
            pair = next(self.said, None)
            if pair is None:
                if self.given is None:
                    self.said = self._drawn()  # nobody was there who could publish
                return
            yield pair

    def _figures(self, rounds_to_settle: int | None) -> dict[str, Any]:
        network, rows = self.network, self.rows
        instance = network.instance
        _, sizes = clusters_of(network)
        lost = self.tally.expected - self.tally.deliveries
        unexplained = self.quiet.expected - self.quiet.deliveries
        changing = self.tally.expected - self.quiet.expected
        busiest = int(np.argmax(self.sent))
        return {
            **instance.counts,
            "publications": sum(row["publications"] for row in rows),
            "unsaid": self.unsaid,
            "expected_deliveries": self.tally.expected,
            **self.tally.figures(),
            "hit_ratio": self.quiet.hit_ratio if self.quiet.expected else None,
            "hit_ratio_while_changing": 1 - (lost - unexplained) / changing if changing else None,
            "lost_while_changing": lost - unexplained,
            "lost_unexplained": unexplained,
            "changes": sum(row["changes"] for row in rows),
            "rounds": len(rows),
            "rounds_to_settle": rounds_to_settle,
            "upkeep_messages": fmean(row["upkeep_messages"] for row in rows),
            **overlay_figures(network, self.rates),
            "busiest_node": instance.node_name(busiest),
            "busiest_sends": int(self.sent[busiest]),
            "clusters_by_size": distribution(sizes),
            "deliveries_by_hops": dict(sorted(self.by_hops.items())),
        }

    def _nodes(self) -> VitisNodes:
        network, instance = self.network, self.network.instance
        return VitisNodes(
            {
                "node": np.arange(instance.nodes),
                "name": pa.array([instance.node_name(node) for node in range(instance.nodes)], pa.string()),
                "there": network.there,
                "links": np.diff(network.link_starts),
                "wanted": self.tally.wanted,
                "relayed": self.tally.relayed,
                "sent": self.sent,
            }
        )
