"""Hops from publishers to subscribers and relays a delivery, as a master plans links and trees. Nothing is sent.

    python benchmarks/hops.py [--nodes 8,16,32,64] [--users 25]

Users of generated social instances are clients, 25 a node. They subscribe before the master has heard who publishes, or
after, as the load of benchmarks/network.py does, or before and then a design is put in place. Hops are those of
deliveries to clients of other nodes than the publisher's, in the mean. A node's port is its number.
"""

import argparse
from collections import Counter
from collections.abc import Iterator

from markdown import head, row
from weft.live.address import Address
from weft.live.bench.load import Load, instance_load
from weft.master.engine import design_here
from weft.master.network import Network
from weft.master.parameters import Parameters
from weft.master.redesign import Redesign, job_of, proposal_of
from weft.master.roster import Member, State
from weft.wire.frame import Held, Measured, topic_of
from weft.workloads.catalog import generate

ORDERS = ("subscribed, then published", "published, then subscribed", "the first, and designed")


def network_of(nodes: int) -> Network:
    """A network all of whose links are up."""
    network = Network(Parameters(), "hops")
    for number in range(nodes):
        network.roster.keep(Member(f"n{number}", number, 1, "127.0.0.1:1", (), State.JOINING, None))
    network.place(list(network.roster), 0.0, {})
    make_links(network)
    return network


def make_links(network: Network) -> None:
    for one, other in sorted(network.links):
        network.link_made(one, other)
        network.link_made(other, one)
    network.connect()


def publish(network: Network, load: Load) -> None:
    """Tell the master who publishes on what."""
    rates: dict[int, list[tuple[str, int, int]]] = {}
    for one, topic in streams(load):
        rates.setdefault(one, []).append((load.names[topic].decode(), 1, 100))
    for node, told in rates.items():
        network.traffic.measure(node, Measured(tuple(told)), 1.0)


def subscribe(network: Network, load: Load) -> None:
    for one in load.subscribers:
        network.interest(
            one.target.port, [Held(load.names[topic].decode(), 1, False) for topic in one.topics.tolist()], ()
        )


def streams(load: Load) -> Iterator[tuple[int, int]]:
    for one in load.publishers:
        for stream in one.streams.tolist():
            yield one.target.port, int(load.stream_topics[stream])


def put_in_place(network: Network) -> None:
    """A design for what the network is now."""
    job, snapshot = job_of(network, 1)
    redesign, judgement = Redesign(network), network.judgement
    proposal = proposal_of(network, snapshot, judgement.scale(), judgement.quality(), design_here(job))
    redesign.begin(proposal, 10.0)
    make_links(network)
    redesign.switch(11.0)
    redesign.go_on(100.0)


def planned(nodes: int, load: Load, order: str) -> Network:
    network = network_of(nodes)
    first, then = (publish, subscribe) if order == ORDERS[1] else (subscribe, publish)
    first(network, load)
    then(network, load)
    if order == ORDERS[2]:
        put_in_place(network)
    return network


def counted(network: Network, load: Load) -> tuple[float, float]:
    """Hops of a delivery to a client in the mean, and relays of a delivery to a node."""
    clients = Counter((one.target.port, topic) for one in load.subscribers for topic in one.topics.tolist())
    hops = receivers = relays = deliveries = 0
    for publisher, topic in streams(load):
        reached, passed = spread(network, publisher, topic_of(load.names[topic].decode()))
        held = {node: far for node, far in reached.items() if clients[node, topic]}
        hops += sum(far * clients[node, topic] for node, far in held.items())
        receivers += sum(clients[node, topic] for node in held)
        deliveries += len(held)
        relays += passed + len(reached) - len(held)
    return hops / receivers, relays / deliveries


def spread(network: Network, publisher: int, topic: int) -> tuple[dict[int, int], int]:
    """How far the members of a tree are from a publisher, and how many nodes are on its way into the tree."""
    tree, way = network.loom.tree(topic), network.loom.way(publisher, topic)
    first = way[-1] if way else publisher
    far, todo = {first: len(way)}, [first] if first in tree else []
    for node in todo:
        new = [peer for peer in tree[node] if peer not in far]
        far |= dict.fromkeys(new, far[node] + 1)
        todo += new
    far.pop(publisher, None)
    return far, max(len(way) - 1, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="8,16,32,64")
    parser.add_argument("--users", type=int, default=25, help="at a node")
    size = parser.parse_args()
    head("nodes", "links of a node", "3 ceil(log2 n)", "order", "hops", "relays a delivery")
    for nodes in map(int, size.nodes.split(",")):
        load = instance_load(
            generate("social", nodes=nodes * size.users, seed=1), [Address("127.0.0.1", port) for port in range(nodes)]
        )
        for order in ORDERS:
            network = planned(nodes, load, order)
            links = [len(peers) for peers in network.peers.values()]
            hops, relays = counted(network, load)
            row(nodes, f"{min(links)} to {max(links)}", network.plan.bound, order, f"{hops:.2f}", f"{relays:.4f}")


if __name__ == "__main__":
    main()
