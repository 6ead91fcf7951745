"""What a node knows of the network: peers, the ring around it, filters of others, and who is down."""

from weft.node.atlas import Atlas, SharedGroup, absence_of
from weft.wire.frame import Filters, Holder, Listed, NeighbourInterests, Peer, Peers

SIZE = 100


def peer(node: int, ring_id: int, is_finger: bool = True) -> Peer:
    return Peer(node, f"n{node}", f"n{node}:1", ring_id, is_finger, opens=False)


def atlas(*peers: Peer, up: tuple[int, ...] = ()) -> Atlas:
    known = Atlas()
    known.node = 0
    known.rewire(Peers(1, 90, SIZE, peers))
    known.up |= set(up)
    known.refresh()
    return known


def test_links_to_make_are_those_that_are_new_or_other_and_to_end_those_that_are_gone():
    known = atlas(peer(1, 10), peer(2, 20), peer(3, 30))
    assert known.rewire(Peers(2, 91, 2 * SIZE, (peer(1, 10), peer(3, 31), peer(4, 40)))) == (
        [peer(3, 31), peer(4, 40)],
        [2],
    )
    assert (known.ring_id, known.ring_size, sorted(known.peers)) == (91, 2 * SIZE, [1, 3, 4])


def test_interests_of_a_peer_are_known_as_long_as_it_is_one():
    known = atlas(peer(1, 10), peer(2, 20))
    for node in (1, 2):
        known.learn(NeighbourInterests(node, (7, 8, 9), (9,)))
    assert [known.subscribes(1, topic) for topic in (7, 8, 9)] == [True, True, False]
    known.learn(NeighbourInterests(1, (5,), whole=True))
    assert [known.subscribes(1, topic) for topic in (5, 7)] == [True, False]
    known.rewire(Peers(2, 90, SIZE, (peer(1, 10),)))
    assert [known.subscribes(node, topic) for node, topic in ((1, 5), (2, 7))] == [True, False]
    known.held.add(7)
    assert [known.subscribes(0, topic) for topic in (5, 7)] == [False, True]


def test_the_ring_is_whole_where_the_next_node_on_it_is_linked():
    assert atlas().is_whole
    assert atlas(peer(1, 95), peer(2, 10), up=(1,)).is_whole
    assert not atlas(peer(1, 95), peer(2, 10), up=(2,)).is_whole
    assert atlas(peer(1, 80), peer(2, 10), up=(2,)).is_whole  # 80 is behind 90, all the way round


def test_what_is_for_a_node_goes_to_it_or_by_fingers_that_are_up():
    known = atlas(peer(1, 95), peer(2, 20), peer(3, 50, is_finger=False), peer(4, 40), up=(1, 2, 3))
    assert known.towards(3, 50) == 3
    assert known.towards(9, 60) == 2  # neither by a link that is no finger, nor by one that is not up
    assert known.towards(9, 97) == 1
    assert atlas(peer(1, 95)).towards(9, 97) is None
    assert known.nearest_subscriber(7) == 95
    assert atlas().nearest_subscriber(7) is None


def test_filters_of_others_are_listed_until_they_are_removed():
    known, holders = Atlas(), (Holder(1, 10, 2),)
    known.enlist(Filters(1, (Listed("a/+"), Listed("b/#"), Listed("$share/g/c", holders), Listed("$share/h/c"))))
    assert sorted(known.wild) == ["a/+", "b/#"]
    assert known.shared("c") == ["$share/g/c", "$share/h/c"]
    group = known.group("$share/g/c")
    assert group is not None
    assert (group.filter, group.holders) == ("$share/g/c", holders)
    assert [known.group(one) for one in ("$share/x/c", "$share/g/d", "c")] == [None] * 3
    known.enlist(Filters(2, (), ("a/+", "$share/g/c")))
    assert (sorted(known.wild), known.shared("c")) == (["b/#"], ["$share/h/c"])
    known.enlist(Filters(3, (), ("$share/h/c", "$share/none/d")))
    assert (known.shared("c"), len(known.groups)) == ([], 0)
    known.enlist(Filters(4, (Listed("a/#"),), whole=True))
    assert sorted(known.wild) == ["a/#"]


def test_who_is_down_is_owed_what_its_sessions_hold():
    known = Atlas()
    known.down = {7: absence_of(70, ["a/+", "$share/g/b", "$share/h/b"]), 8: absence_of(80, ["$share/g/b", "c"])}
    assert [known.owed(name) for name in ("a/x", "b", "c")] == [[7], [], [8]]
    assert [known.absent_holders(one) for one in ("$share/g/b", "$share/h/b", "$share/g/c", "a/+")] == [
        *([7, 8], [7], [], []),
    ]
    assert known.shared("b") == ["$share/g/b", "$share/h/b", "$share/g/b"]
    assert [known.down[7].wants(name) for name in ("a/x", "b", "c")] == [True, True, False]


def test_nodes_of_a_group_take_turns_by_the_number_of_their_members():
    group = SharedGroup("$share/g/a", (Holder(1, 10, 1), Holder(2, 20, 2)))
    chosen = [group.choose() for _ in range(6)]
    assert [one.node for one in chosen if one is not None] == [2, 1, 2, 2, 1, 2]
    assert group.choose(preferred=1) == Holder(1, 10, 1)
    assert group.choose(preferred=9) is not None
    assert SharedGroup("$share/g/a", ()).choose() is None


def test_the_next_of_a_group_is_behind_one_by_number_and_round_again():
    group = SharedGroup("$share/g/a", (Holder(5, 10, 1), Holder(2, 20, 1), Holder(9, 30, 1)))
    assert [group.next_to(node) for node in (2, 5, 9, 7)] == [group.holders[place] for place in (0, 2, 1, 2)]
    assert SharedGroup("$share/g/a", (Holder(5, 10, 1),)).next_to(5) is None


def test_members_get_as_much_where_many_nodes_publish_once():
    holders = Holder(2, 10, 1), Holder(5, 20, 1), Holder(8, 30, 1)
    chosen = [SharedGroup("$share/g/a", holders, issuer).choose() for issuer in range(9)]
    assert [one.node for one in chosen if one] == [2, 2, 5, 5, 5, 8, 8, 8, 2]
