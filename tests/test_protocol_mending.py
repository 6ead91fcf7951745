"""All routers mend by one rule: what a link could not carry is sent again, and clients get a publication once."""

from collections import Counter

import pytest

from weft.model.latency import ConstantLatency
from weft.overlays.catalog import design
from weft.protocol.router import Publication, Published
from weft.sim.catalog import ROUTERS, routing
from weft.sim.population import routers_of, subscribe_all
from weft.sim.record import Record
from weft.sim.world import Faults, World
from weft.workloads.catalog import generate
from weft.workloads.publication import publications


@pytest.mark.parametrize("router", ROUTERS)
def test_at_five_percent_loss_everybody_gets_everything_once(router):
    """Acknowledgements are lost as well, so that a link reports what has arrived."""
    instance = generate("unif", nodes=60, topics=40, subscriptions=8, seed=1)
    overlay, record = design(instance, "swico-even", seed=1), Record()
    world = World(routers_of(instance, overlay, router), ConstantLatency(60, 20.0), record, Faults(0.05, 200.0, seed=2))
    if not routing(router).has_trees:
        subscribe_all(world, instance)
    expected = Counter()
    drawn = publications(instance, 200, seed=3)
    for number, (topic, issuer) in enumerate(zip(drawn.topics.tolist(), drawn.nodes.tolist(), strict=True)):
        said = Publication(issuer, number, topic)
        world.schedule(world.now + number, issuer, Published(said))
        expected += Counter((node, said) for node in instance.subscribers[topic].tolist() if node != issuer)
    world.run()
    world.check_invariants()
    assert len(expected) > 2000
    assert Counter((each.node, each.publication) for each in record.deliveries) == expected
