"""The ring, compared with a search through all its gaps."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.master.ring import SIZE, Ring

SHARED = st.integers(0, 2)  # topics that a newcomer has in common with a node


def searched(id_of: Mapping[int, int], shared: Mapping[int, int] | None) -> int:
    """The place of a newcomer: the middle of a gap, all of which are looked at."""
    if not id_of:
        return 0
    order = sorted(id_of, key=id_of.__getitem__)
    after = dict(zip(order, order[1:] + order[:1], strict=True))
    before = {next_one: node for node, next_one in after.items()}
    gap = {node: (id_of[after[node]] - id_of[node]) % SIZE or SIZE for node in order}
    chosen = max(order, key=gap.__getitem__)
    if shared and max(shared.values()) > 0:
        best = min(node for node in shared if shared[node] == max(shared.values()))
        beside = before[best] if shared[before[best]] > shared[after[best]] else best
        chosen = beside if gap[beside] > 1 else chosen
    return (id_of[chosen] + gap[chosen] // 2) % SIZE


@given(st.data())
@settings(max_examples=100)
def test_newcomers_are_placed_as_a_search_through_all_gaps_says(data: st.DataObject) -> None:
    ring, id_of = Ring(), {}
    for node in range(data.draw(st.integers(1, 15))):
        alike = {other: data.draw(SHARED) for other in sorted(id_of)} if data.draw(st.booleans()) else None
        place = ring.place(None if alike is None else alike.__getitem__)
        assert place == searched(id_of, alike)
        near = data.draw(st.integers(0, 9))  # some are close together, without a gap between them
        id_of[node] = near if near < 6 and ring.is_free(near) else place
        ring.add(node, id_of[node])
        if data.draw(st.integers(0, 3)) == 0:
            gone = data.draw(st.sampled_from(sorted(id_of)))
            ring.remove(gone)
            assert ring.is_free(id_of.pop(gone))
        order = sorted(id_of, key=id_of.__getitem__)
        assert ring.order == order
        assert len(ring) == len(order)
        assert [ring.successor(one) for one in order] == order[1:] + order[:1]
        assert [ring.predecessor(one) for one in order] == order[-1:] + order[:-1]
