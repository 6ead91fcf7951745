"""A publication hop by hop: every message once, below the one that brought it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing_oracle import ring_instance, ring_overlay
from weft.sim.catalog import ROUTERS
from weft.sim.hop import journey


@settings(deadline=None)  # the first compiles
@given(st.integers(0, 50), st.sampled_from(list(ROUTERS)), st.integers(0, 3), st.integers(0, 24))
def test_every_message_has_a_line_below_its_sender(seed: int, router: str, topic: int, issuer: int) -> None:
    instance, overlay = ring_instance(seed, 25, 4, 0.3), ring_overlay(seed, 25, 40)
    told = journey(instance, overlay, topic, issuer, router=router)
    first, *lines = told.lines()
    assert first == f"{issuer}  (issuer)"
    rows = told.rows()
    assert len(lines) == len(rows)
    above = {0: str(issuer)}
    pairs = []
    for line in lines:
        depth = 1 + len(line.partition("─ ")[0]) // 3
        above[depth] = line.partition("─ ")[2].removesuffix("  (relay)")
        pairs.append((depth, above[depth - 1], above[depth]))
    assert sorted(pairs) == sorted((row["hop"], row["from"], row["to"]) for row in rows)
    receivers = {row["to"] for row in rows if not row["relay"]}
    assert receivers == {str(node) for node in instance.subscribers[topic] if node != issuer}


@pytest.mark.parametrize("router", ["weave", "pie"])
def test_without_an_issuer_a_subscriber_publishes(router: str) -> None:
    instance, overlay = ring_instance(1, 25, 4, 0.3), ring_overlay(1, 25, 40)
    assert journey(instance, overlay, 2, router=router).issuer in instance.subscribers[2]
