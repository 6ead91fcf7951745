"""Advertisements, subscriptions and gain tables (PopSub sections 3.2 and 4.1)."""

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_world import ANYTHING, BrokerWorld, interval
from weft.errors import WeftError
from weft.model.content import Content, Filter, Subscription, intersects
from weft.protocol.popsub.cover import Cover
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.popsub.popularity import best_way
from weft.protocol.popsub.table import Entry, Route

FIGURE_2 = [(1, 2), (1, 3), (2, 4), (4, 8), (3, 7), (7, 9), (2, 5), (3, 6)]  # broker 0 is not in the figure


def figure_2():
    """B1 publishes gray (A1), red (A2) and blue (A3); S10 and S11 at B4 are red; S7 and S8 at B8 are red, S9 blue."""
    world = BrokerWorld(10, [(0, 5), *FIGURE_2])
    gray, red, blue = (world.advertise(1, Filter(color, {})) for color in ("gray", "red", "blue"))
    world.settle()
    for node, color in [(9, "gray")] * 4 + [(4, "red")] * 2 + [(8, "red")] * 2 + [(8, "blue")]:
        world.subscribe(node, Filter(color, {}))
    world.settle()
    return world, gray, red, blue


def test_the_gains_of_figure_2():
    world, gray, red, blue = figure_2()
    at_1, at_4 = world.brokers[1].table.entries, world.brokers[4].table.entries
    assert (at_1[2, red].count, at_1[2, red].hops) == (4, 2 + 2 + 3 + 3)
    assert at_1[2, red].gain == 4 / 2.5
    assert at_1[2, blue].gain == 1 / 3
    assert at_4[8, red].gain == 2 / 1  # the own two do not count
    assert at_1[3, gray].gain == 4 / 3
    assert set(at_1) == {(2, red), (2, blue), (3, gray)}  # all others are 0/0
    assert not world.brokers[9].table.entries
    assert at_1[2, red].origins == {4: 2, 8: 2}


def test_brokers_whose_last_subscription_went_are_not_counted_by_the_choice_of_a_way():
    """Three brokers and two hops a subscription: without the first, direct messages cost no more than the tree."""
    routes = [Route(Subscription(number, ANYTHING), 2, origin, 1) for number, origin in enumerate((4, 8, 8, 9))]
    entry = Entry()
    for route in routes:
        entry.count_in(route)
    entry.count_out(routes[0])
    assert dict(entry.origins) == {8: 2, 9: 1}
    entry.hops, entry.rate = 6, 5.0  # two hops each, and batches would fill
    assert best_way(entry, 0.0, Parameters(diameter=1.0, capacity=1.0)) is Way.DIRECT


def test_a_subscription_counts_on_every_link_of_its_path_and_goes_nowhere_else():
    world, gray, red, blue = figure_2()
    holders = {node for node, broker in enumerate(world.brokers) for key in broker.table.entries if key[1] == blue}
    assert holders == {1, 2, 4}
    assert all(set(broker.table.sources) == {gray, red, blue} for broker in world.brokers)


class Unread(dict):
    """A dictionary in which one can look up, but not look through."""

    def __iter__(self):
        raise AssertionError("all of it is read")

    keys = values = items = __iter__


def test_a_question_about_one_advertisement_takes_no_look_at_all_others():
    """Every gossip asks them, so that a scan would cost it as much as there are subscriptions."""
    world, gray, red, blue = figure_2()
    for broker in (world.brokers[1], world.brokers[4]):
        table = broker.table
        table.sources, table.routes, table.entries = Unread(table.sources), Unread(table.routes), Unread(table.entries)
        table._entries_of = Unread(table._entries_of)
    at_1, at_4 = world.brokers[1].table, world.brokers[4].table
    assert [at_1.links_of(color) for color in (gray, red, blue)] == [[3], [2], [2]]
    assert [link for link, _ in at_1.entries_of(red)] == [2]
    assert [at_4.own_interest(color) for color in (gray, red, blue)] == [False, True, False]


def random_tree(nodes, seed):
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(node)), node) for node in range(1, nodes)]


def tables_by_hand(nodes, links, advertisements, subscriptions):
    """Tables by the paths of the tree, given {number: (node, filter)} of what there is."""
    tree = networkx.Graph(links)
    tree.add_node(0)
    path = dict(networkx.all_pairs_shortest_path(tree))

    def link_to(node, other):
        return path[node][other][1] if node != other else None

    tables = []
    for node in range(nodes):
        sources = {number: link_to(node, issuer) for number, (issuer, _) in advertisements.items()}
        routes, entries = {}, {}
        for number, (origin, wanted) in subscriptions.items():
            link = link_to(node, origin)
            heads_for = {
                other
                for other, (issuer, announced) in advertisements.items()
                if intersects(wanted, announced) and node in path[origin][issuer] and sources[other] != link
            }
            hops = len(path[node][origin]) - 1
            if link is None or heads_for:
                routes[number] = (link, origin, hops, heads_for)
            for other in heads_for if link is not None else ():
                count, total, origins = entries.get((link, other), (0, 0, {}))
                entries[link, other] = (count + 1, total + hops, origins | {origin: origins.get(origin, 0) + 1})
        tables.append((sources, routes, entries))
    return tables


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_what_is_taken_back_leaves_no_trace_in_whatever_order_and_however_soon(data):
    nodes = data.draw(st.integers(1, 7))
    links = random_tree(nodes, data.draw(st.integers(0, 99)))
    world = BrokerWorld(nodes, links, seed=data.draw(st.integers(0, 9)))
    advertisements, subscriptions = {}, {}
    for _ in range(data.draw(st.integers(1, 25))):
        node, low = data.draw(st.integers(0, nodes - 1)), data.draw(st.integers(0, 5))
        wanted = interval(low, low + data.draw(st.integers(0, 3)))
        match data.draw(st.sampled_from(["advertise", "subscribe", "unadvertise", "unsubscribe", "wait"])):
            case "advertise":
                advertisements[world.advertise(node, wanted)] = (node, wanted)
            case "subscribe":
                subscriptions[world.subscribe(node, wanted)] = (node, wanted)
            case "unadvertise" if advertisements:
                number = data.draw(st.sampled_from(sorted(advertisements)))
                world.unadvertise(advertisements.pop(number)[0], number)
            case "unsubscribe" if subscriptions:
                number = data.draw(st.sampled_from(sorted(subscriptions)))
                world.unsubscribe(subscriptions.pop(number)[0], number)
            case "wait":
                world.wait(data.draw(st.sampled_from([1, 5, 20, 200])))
        world.world.check_invariants()
    world.settle()
    world.world.check_invariants()
    assert world.tables() == tables_by_hand(nodes, links, advertisements, subscriptions)


def test_nothing_is_left_when_all_is_taken_back():
    world = BrokerWorld(4, [(0, 1), (1, 2), (1, 3)])
    advertisement, subscription = world.advertise(0), world.subscribe(3)
    world.settle()
    assert world.brokers[0].table.entries[1, advertisement].gain == 1 / 2
    world.unsubscribe(3, subscription)
    world.unadvertise(0, advertisement)
    world.settle()
    assert world.tables() == [({}, {}, {})] * 4


@pytest.mark.parametrize("middle", [1, 2, 3])
def test_a_subscription_that_crosses_an_unadvertisement_is_taken_back_for_good(middle):
    """The subscription arrives when a newer advertisement fits it, of which its origin has not heard yet."""
    nodes, links = middle + 1, [(node, node + 1) for node in range(middle)]
    world = BrokerWorld(nodes, links)
    first = world.advertise(0)
    world.settle()
    subscription = world.subscribe(middle)
    while subscription not in world.brokers[1].table.routes:
        world.wait(0.05)
    world.unadvertise(0, first)
    world.wait(0.2)
    second = world.advertise(0)
    while first in world.brokers[middle].table.sources:
        world.wait(0.05)
    assert second not in world.brokers[middle].table.sources
    world.unsubscribe(middle, subscription)
    world.settle()
    world.world.check_invariants()
    assert world.tables() == tables_by_hand(nodes, links, {second: (0, ANYTHING)}, {})


def test_a_covered_subscription_is_not_matched_but_counts():
    world = BrokerWorld(2, [(0, 1)])
    advertisement = world.advertise(0)
    world.settle()
    narrow, wide, other = (world.subscribe(1, interval(*ends)) for ends in [(1, 2), (0, 5), (4, 9)])
    world.settle()
    broker = world.brokers[0]
    assert broker.table.entries[1, advertisement].gain == 3
    said = [content(x) for x in (1, 4, 8)]
    assert [sorted(numbers) for numbers in broker.cover.match(said)] == [[wide], [wide, other], [other]]
    assert sorted(broker.cover.all_matching(wide, said[0])) == [narrow, wide]
    world.unsubscribe(1, wide)
    world.settle()
    assert [sorted(numbers) for numbers in broker.cover.match(said)] == [[narrow], [other], [other]]


def content(x):
    return Content("news", {"x": x})


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(1, 2), st.booleans()), max_size=25))
def test_covering_finds_the_links_and_the_subscriptions_that_matching_all_would(rows):
    cover, kept = Cover(), {}
    for number, (low, width, link, goes) in enumerate(rows):
        wanted = interval(low, low + width)
        cover.add(number, wanted, link)
        kept[number] = (link, low, low + width)
        if goes:
            gone = min(kept)
            cover.remove(gone)
            del kept[gone]
        cover.check_invariants()
    for x in range(12):
        (tops,) = cover.match([content(x)])
        found = {number for top in tops for number in cover.all_matching(top, content(x))}
        assert found == {number for number, (_, low, high) in kept.items() if low <= x <= high}
        assert {kept[top][0] for top in tops} == {kept[number][0] for number in found}


def test_a_publication_that_was_not_announced_is_an_error():
    world = BrokerWorld(2, [(0, 1)])
    advertisement = world.advertise(0, interval(0, 5))
    world.settle()
    for node, x in [(0, 6), (1, 3)]:
        with pytest.raises(WeftError, match=f"not what advertisement {advertisement} at broker {node} announced"):
            world.publish(node, advertisement, x)
