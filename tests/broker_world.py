"""A world of PopSub brokers for tests: a tree, latencies, a clock, and what a client can do."""

from itertools import count

import networkx
import numpy as np

from weft.model.content import Advertisement, Content, Filter, Subscription, between
from weft.model.latency import MatrixLatency
from weft.protocol.popsub.message import Advertised, Publication, Subscribed, Unadvertised, Unsubscribed
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.router import Published
from weft.sim.brokers import Ledger, brokers_of
from weft.sim.world import World

ANYTHING = Filter("news", {})


def interval(low, high):
    return Filter("news", {"x": between(low, high)})


def round_trips(nodes, seed, low=1.0, high=40.0):
    drawn = np.random.default_rng(seed).uniform(low, high, (nodes, nodes)).round()
    return np.triu(drawn, 1) + np.triu(drawn, 1).T


def longest_time(links, matrix):
    """The longest time between two brokers, along the tree or directly."""
    tree = networkx.Graph()
    tree.add_node(0)
    tree.add_weighted_edges_from((one, other, matrix[one, other] / 2) for one, other in links)
    along = dict(networkx.all_pairs_dijkstra_path_length(tree))
    return max([matrix.max() / 2, *(time for row in along.values() for time in row.values())])


class BrokerWorld:
    def __init__(self, nodes, links, way=Way.TREE, seed=0, capacity=1000.0, faults=None, **parameters):
        matrix = round_trips(nodes, seed)
        longest = {"diameter": longest_time(links, matrix)} | parameters
        chosen = Parameters(capacity=capacity, **longest)
        self.brokers = brokers_of(nodes, links, way, chosen, seed)
        self.ledger = Ledger(self.brokers)
        self.world = World(self.brokers, MatrixLatency(matrix), self.ledger, faults)
        self.parameters = chosen
        self.time = 0.0
        self._numbers = count()

    def advertise(self, node, wanted=ANYTHING, priority=False):
        return self._tell(node, lambda number: Advertised(Advertisement(number, wanted, priority)))

    def subscribe(self, node, wanted=ANYTHING):
        return self._tell(node, lambda number: Subscribed(Subscription(number, wanted)))

    def publish(self, node, advertisement, x=0):
        number = next(self._numbers)
        said = Publication(node, number, advertisement, said=Content("news", {"x": x}))
        self._happen(node, Published(said))
        return number

    def unadvertise(self, node, number):
        self._happen(node, Unadvertised(number))

    def unsubscribe(self, node, number):
        self._happen(node, Unsubscribed(number))

    def happen(self, node, event):
        self._happen(node, event)

    def wait(self, milliseconds):
        self.time += milliseconds
        self.world.run(until=self.time)

    def settle(self):
        self.wait(3 * self.parameters.diameter)

    def got(self, subscription):
        """The numbers of the publications that came to a subscription, in the order they came."""
        return [row.publication.number for row in self.ledger.deliveries if row.subscription == subscription]

    def tables(self):
        """All that brokers know of advertisements and subscriptions."""
        return [
            (
                {number: source.link for number, source in broker.table.sources.items()},
                {
                    number: (route.link, route.origin, route.hops, route.heads_for)
                    for number, route in broker.table.routes.items()
                },
                {key: (entry.count, entry.hops, dict(entry.origins)) for key, entry in broker.table.entries.items()},
            )
            for broker in self.brokers
        ]

    def _tell(self, node, event):
        number = next(self._numbers)
        self._happen(node, event(number))
        return number

    def _happen(self, node, event):
        self.world.schedule(self.time, node, event)
        self.world.run(until=self.time)
