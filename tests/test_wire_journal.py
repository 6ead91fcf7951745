"""Journal files: frames come back whole whatever the pieces, and what cannot be read is told from what was torn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.wire.journal import (
    FRAME_BYTES,
    HEADER_BYTES,
    MAGIC,
    Damage,
    Frame,
    Header,
    Kind,
    NewerFormatError,
    Reader,
    frame_bytes,
    header_bytes,
)

SALT = b"salt"
batches = st.lists(st.lists(st.binary(max_size=40), max_size=5), max_size=5)


def file_of(batches, synced=True):
    """Bytes of a file, and where each frame begins, and the end."""
    data, position, bounds = header_bytes(Header(Kind.SEGMENT, SALT, 7)), 7, []
    for records in batches:
        bounds.append(len(data))
        data += frame_bytes(SALT, position, len(data) if synced else HEADER_BYTES, records)
        position += len(records)
    return data, [*bounds, len(data)]


def read(data):
    reader = Reader()
    return reader.feed(data), reader


@given(batches, st.data())
def test_any_pieces_give_the_same_frames(batches, draw):
    data, bounds = file_of(batches)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)))))
    reader, frames = Reader(), []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        frames += reader.feed(data[start:end])
    assert [frame.records for frame in frames] == batches
    assert [frame.synced for frame in frames] == bounds[:-1]
    assert reader.header == Header(Kind.SEGMENT, SALT, 7)
    assert reader.position == 7 + sum(map(len, batches))
    assert reader.offset == len(data)
    assert reader.ended == (bool(batches) and not batches[-1])
    assert reader.damage() is None


@given(batches, st.data())
def test_a_file_that_stops_early_is_torn_where_its_last_frame_begins(batches, draw):
    data, bounds = file_of(batches)
    size = draw.draw(st.integers(HEADER_BYTES, len(data)))
    frames, reader = read(data[:size])
    whole = [bound for bound in bounds if bound <= size]
    assert [frame.records for frame in frames] == batches[: len(whole) - 1]
    assert reader.damage() == (None if whole[-1] == size else Damage(whole[-1], promised=False))


@given(batches.filter(len), st.data())
def test_a_flipped_bit_is_damage_if_a_later_frame_says_that_it_was_synced(batches, draw):
    data, bounds = file_of(batches)
    at = draw.draw(st.integers(HEADER_BYTES, len(data) - 1))
    flipped = bytearray(data)
    flipped[at] ^= 1 << draw.draw(st.integers(0, 7))
    frames, reader = read(flipped)
    hit = max(number for number, bound in enumerate(bounds) if bound <= at)
    assert [frame.records for frame in frames] == batches[:hit]
    assert reader.damage() == Damage(bounds[hit], promised=hit < len(batches) - 1)


def test_without_syncs_a_flipped_bit_is_torn():
    data, bounds = file_of([[b"one"], [b"two"], [b"three"]], synced=False)
    flipped = bytearray(data)
    flipped[bounds[1] + FRAME_BYTES] ^= 1
    frames, reader = read(flipped)
    assert [frame.records for frame in frames] == [[b"one"]]
    assert reader.damage() == Damage(bounds[1], promised=False)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_frames_or_damage(data, begins_well):
    if begins_well:
        data = file_of([])[0] + data
    try:
        frames, reader = read(data)
    except NewerFormatError:
        return
    assert frames == []
    damage = reader.damage()
    assert (damage is None) == (begins_well and len(data) == HEADER_BYTES)


def test_a_frame_of_another_file_is_not_taken_for_one_of_this():
    data, _ = file_of([[b"one"]])
    stale = frame_bytes(b"else", 8, len(data) + 100, [b"two"])
    frames, reader = read(data + stale)
    assert [frame.records for frame in frames] == [[b"one"]]
    assert reader.damage() == Damage(len(data), promised=False)


def test_a_frame_in_the_wrong_place_is_not_taken():
    data, bounds = file_of([[b"one"]])
    frames, reader = read(data + frame_bytes(SALT, 7, 0, [b"one"]))
    assert frames == [Frame(7, bounds[0], [b"one"])]
    assert reader.damage() == Damage(len(data), promised=False)


def test_a_bad_header_is_torn_only_if_nothing_follows_it():
    data, _ = file_of([[b"one"]])
    bad = bytearray(data)
    bad[20] ^= 1
    assert read(bad[:HEADER_BYTES])[1].damage() == Damage(0, promised=False)
    assert read(bad)[1].damage() == Damage(0, promised=True)
    assert read(b"")[1].damage() == Damage(0, promised=False)


def test_a_newer_format_is_refused_with_a_sentence():
    data = bytearray(file_of([])[0])
    data[len(MAGIC)] = 2
    with pytest.raises(NewerFormatError, match=r"has format 2 of the journal.*this Weft reads up to 1: use a newer"):
        Reader().feed(bytes(data))


def test_the_bytes_of_format_1_stay_what_they_are():
    """Else a journal that an older Weft wrote could not be read."""
    data, _ = file_of([[b"one", b""], []])
    header, one, end = data[:HEADER_BYTES], data[HEADER_BYTES:-FRAME_BYTES], data[-FRAME_BYTES:]
    assert header.hex() == "576566744c6f670a0100010073616c7407000000000000008d2ad63a"
    assert one[:FRAME_BYTES].hex() == "73616c74804d30680b0000000200000007000000000000001c00000000000000"
    assert one[FRAME_BYTES:].hex() == "0300000000000000" + b"one".hex()
    assert end.hex() == "73616c740a0fe25d000000000000000009000000000000004700000000000000"
