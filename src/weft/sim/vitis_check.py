"""A check of kernels against the protocol: the same network twice, on arrays and as nodes that send messages.

All nodes join through the first, a few in each round, and after every round both have to hold the same views, tables,
links and gateways. Round trips must be shorter than a round, as the kernels assume.
"""

from typing import Any

from weft.errors import DeliveryError, WeftError
from weft.kernels.vitis.state import NOBODY
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.protocol.vitis.parameters import Parameters
from weft.protocol.vitis.router import Vitis
from weft.sim.record import Record
from weft.sim.vitis import VitisNetwork
from weft.sim.vitis_world import schedule_join, vitis_world

PER_ROUND = 10  # nodes that join


def check_agreement(instance: Instance, latency: Latency, parameters: Parameters, seed: int, rounds: int) -> int:
    """Check so many rounds; the number of messages that the nodes sent meanwhile."""
    network = VitisNetwork(instance, latency, parameters, seed)
    longest = 2 * float(network.setting.trips.max() + 2 * network.setting.access.max())
    if longest >= parameters.period:
        raise WeftError(f"Round trips of {longest / 2:.0f} ms are too long for rounds of {parameters.period:.0f} ms.")
    record = Record()
    believed = network.believed if parameters.measured else None
    world, nodes = vitis_world(instance, latency, parameters, seed, record, None, believed)
    for number in range(rounds):
        for node in range(PER_ROUND * number, min(PER_ROUND * (number + 1), instance.nodes)):
            contact = 0 if node else None
            network.join(node, contact)
            schedule_join(world, nodes, world.now + 0.25, node, contact)
        network.step()
        world.run(until=network.round * parameters.period)
        world.check_invariants()
        for node in range(min(PER_ROUND * (number + 1), instance.nodes)):
            if _on_kernels(network, node) != _as_node(nodes[node]):
                where = f"node {instance.node_name(node)} in round {network.round}"
                raise DeliveryError(f"kernels and protocol of Vitis differ at {where}")
        world.run(until=(network.round + 1) * parameters.period - 0.5)
        world.now = (network.round + 1) * parameters.period - 0.5
    return record.controls


def _on_kernels(network: VitisNetwork, node: int) -> dict[str, Any]:
    gossip, profile = network.gossip, network.profile[node]
    low, high = network.setting.indptr[profile : profile + 2]
    both = (gossip.sampled, gossip.sampled_age), (gossip.table, gossip.table_age)
    view, table = (
        {int(peer): int(age) for peer, age in zip(peers[node], ages[node], strict=True) if peer != NOBODY}
        for peers, ages in both
    )
    gateways = [network.proposals.gateway[low:high].tolist(), network.proposals.is_gateway[low:high].tolist()]
    return {"view": view, "table": table, "links": {*network.links(node).tolist()}, "gateways": gateways}


def _as_node(node: Vitis) -> dict[str, Any]:
    held = node.neighbourhood
    view, table = ({peer.node: peer.age for peer in peers.values()} for peers in (held.sampling.view, held.table.peers))
    proposals = [held.proposals[topic] for topic in sorted(held.proposals)]
    gateways = [[each.gateway for each in proposals], [held.is_gateway(topic) for topic in sorted(held.proposals)]]
    return {"view": view, "table": table, "links": {*held.links}, "gateways": gateways}
