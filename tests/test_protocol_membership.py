"""The membership service beside a search of all subscribers, after every change."""

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.protocol.membership import Delta, MembershipService, NearestTable, merged

SIZE, TOPICS = 64, 4
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["enter", "leave", "subscribe", "unsubscribe", "rewire"]),
        st.integers(0, 12),
        st.integers(0, TOPICS - 1),
        st.sets(st.integers(0, 12), max_size=4),
    ),
    max_size=40,
)


def nearest_by_search(ids, topics, node, topic):
    others = [ids[each] for each in ids if each != node and topic in topics[each]]
    return min(others, key=lambda ring_id: (ring_id - ids[node]) % SIZE, default=None)


@settings(deadline=None, max_examples=200)
@given(STEPS)
def test_deltas_keep_every_table_as_a_search_would_find_it(steps):
    service, tables, ids, topics, fingers = MembershipService(), {}, {}, {}, {}
    for step, node, topic, peers in steps:
        if step == "enter" and node not in ids:
            ids[node], topics[node], fingers[node] = (node * 37 + 5) % SIZE, set(), set()
            tables[node] = NearestTable()
            service.enter(node, ids[node])
            deltas = {node: service.whole(node)}
        elif node not in ids:
            continue
        elif step == "leave":
            for each in ids:  # as a driver does: who has a finger to a node that leaves gets others first
                if node in fingers[each]:
                    fingers[each].discard(node)
                    for other, delta in service.rewire(each, fingers[each]).items():
                        tables[other].apply(delta)
            deltas = service.leave(node)
            for known in (ids, topics, fingers, tables):
                del known[node]
        elif step == "subscribe":
            topics[node].add(topic)
            deltas = service.subscribe(node, topic)
        elif step == "unsubscribe":
            topics[node].discard(topic)
            deltas = service.unsubscribe(node, topic)
        else:
            fingers[node] = {peer for peer in peers if peer in ids and peer != node}
            deltas = service.rewire(node, fingers[node])
        for other, delta in deltas.items():
            tables[other].apply(delta)
        for each, table in tables.items():
            for number in range(TOPICS):
                assert table.nearest_subscriber(number) == nearest_by_search(ids, topics, each, number)
                assert table.subscribes(each, number) == (number in topics[each])
                for peer in fingers[each]:
                    assert table.subscribes(peer, number) == (number in topics[peer])


def test_a_subscription_costs_the_nodes_up_to_the_last_subscriber_before():
    service = MembershipService()
    for node in range(8):
        service.enter(node, node * 8)
    service.subscribe(2, 0)
    deltas = service.subscribe(5, 0)
    assert {node: dict(delta.nearest) for node, delta in deltas.items() if delta.nearest} == {
        2: {0: 40},
        3: {0: 40},
        4: {0: 40},
    }
    assert deltas[5] == Delta(gained=frozenset({(5, 0)}))


def test_of_several_changes_the_last_holds():
    one, other = Delta({0: 1}, gained=frozenset({(1, 0)})), Delta({0: None}, lost=frozenset({(1, 0)}))
    assert merged([{7: one}, {7: other}]) == {7: Delta({0: None}, lost=frozenset({(1, 0)}))}
    assert len(merged([{7: other}, {7: one}])[7]) == 2
