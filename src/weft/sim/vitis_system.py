"""Vitis as a system among systems: publications over a network of gossiping nodes after it has settled.

Its messages are the contents that nodes pull. Notifications of them, which go over nearly all links of a cluster, and
the pulls are controls: they are small, and many. Gossip goes on all the time whether anybody publishes or not, and is
counted by `weft vitis`.
"""

import numpy as np

from weft.arrays import Int64s
from weft.kernels.vitis.dissemination import spread_all
from weft.kernels.vitis.state import NOBODY
from weft.model.latency import ConstantLatency
from weft.model.overlay import Overlay, overlay_from_links
from weft.protocol.vitis.message import NOTIFICATION_BYTES, PULL_BYTES
from weft.protocol.vitis.parameters import LOCALITY, Parameters
from weft.sim.evaluation import TOPIC_COLUMNS, Counts
from weft.sim.system import Measured, Task
from weft.sim.vitis import VitisNetwork
from weft.sim.vitis_scenario import Scenario, join_all, until_settled

OVERLAY = "gossip"  # what its links are called among overlays


def measure(task: Task) -> Measured:
    network = settled(task)
    instance, said = task.instance, task.publications
    counts = np.zeros((instance.topics, len(TOPIC_COLUMNS)), np.int64)
    sent, received = np.zeros(instance.nodes, np.int64), np.zeros(instance.nodes, np.int64)
    times = np.empty(int(instance.subscribers.counts[said.topics].sum()))
    subscribers = instance.subscribers
    notices = spread_all(
        network.setting,
        network.as_it_stands(),
        subscribers.indptr,
        subscribers.indices,
        said.topics.astype(np.int64),
        said.nodes.astype(np.int64),
        counts,
        sent,
        received,
        times,
    )
    sums, longest = counts[:, :-1].sum(axis=0).tolist(), int(counts[:, -1].max(initial=0))
    totals = dict(zip(TOPIC_COLUMNS, [*sums, longest], strict=True))
    contents = totals["messages"]
    peers, entries = _known(network)
    return Measured(
        Counts(**totals, sent=sent, received=received, topics=counts),
        _links_of(network),
        peers,
        entries,
        controls=notices + contents,
        control_bytes=notices * NOTIFICATION_BYTES + contents * PULL_BYTES,
        times=None if task.latency is None else times[: totals["deliveries"]],
    )


def settled(task: Task) -> VitisNetwork:
    """A network that all nodes have joined and that has settled; with latencies, it goes by them."""
    instance = task.instance
    parameters = Parameters(exponent=0.0 if task.latency is None else LOCALITY)
    latency = task.latency or ConstantLatency(instance.nodes)
    known = instance.known_publishers
    rates = None if known is None else known.topic_rates(instance.topics)
    network = VitisNetwork(instance, latency, parameters, task.seed, rates)
    rng = np.random.default_rng(task.seed)
    join_all(network, rng.permutation(instance.nodes), 0.0, rng)
    for _ in until_settled(network, Scenario()):
        pass
    return network


def _links_of(network: VitisNetwork) -> Overlay:
    nodes = network.instance.nodes
    sources = np.repeat(np.arange(nodes), np.diff(network.link_starts))
    return overlay_from_links(nodes, sources, network.link_peers, algorithm=OVERLAY)


def _known(network: VitisNetwork) -> tuple[Int64s, Int64s]:
    """The peers that every node knows, by view, table or link; their topics, its gateways, and whom it relays to."""
    nodes, wanted = network.instance.nodes, network.instance.interest.counts
    keys = [network.linked_lately]
    for peers in (network.gossip.sampled, network.gossip.table):
        node, place = np.nonzero(peers != NOBODY)
        keys.append(node * np.int64(nodes) + peers[node, place])
    node, peer = np.divmod(np.unique(np.concatenate(keys)), nodes)
    relays = np.bincount(network.relay_children // (nodes * np.int64(network.instance.topics)), minlength=nodes)
    entries = np.bincount(node, wanted[peer], minlength=nodes) + wanted + relays
    return np.bincount(node, minlength=nodes).astype(np.int64), entries.astype(np.int64)
