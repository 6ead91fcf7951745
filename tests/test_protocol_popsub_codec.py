"""Messages between PopSub's brokers as bytes: all of them, and what is none."""

from contextlib import suppress
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.model.content import Advertisement, Content, Filter, Subscription, between, one_of, prefix
from weft.protocol.popsub import message
from weft.protocol.popsub.codec import decode, encode
from weft.protocol.popsub.message import (
    Advertise,
    Batch,
    Direct,
    Forward,
    Gossip,
    Join,
    MessageError,
    Publication,
    Retrieve,
    Retrieved,
    Subscribe,
    Sweep,
    Switch,
    Unadvertise,
    Unsubscribe,
)
from weft.protocol.router import Packet

numbers = st.integers(0, 2**40)
several = st.lists(numbers, max_size=4).map(tuple)
words = st.text(max_size=5)
finite = st.floats(allow_nan=False, allow_infinity=False)
values = words | st.integers(-5, 5) | finite
ends = st.tuples(finite | st.just(-inf), finite | st.just(inf)).filter(lambda pair: pair[0] <= pair[1])
ranges = ends.map(lambda pair: between(*pair))
predicates = ranges | st.builds(one_of, st.frozensets(values, min_size=1, max_size=3)) | st.builds(prefix, words)
filters = st.builds(Filter, words, st.dictionaries(words, predicates, max_size=3))
contents = st.builds(Content, words, st.dictionaries(words, values, max_size=3))
publications = st.builds(Publication, numbers, numbers, numbers, st.binary(max_size=9), said=contents)
batches = st.lists(publications, max_size=3).map(tuple)
hops = st.integers(1, 99)
switches = st.sampled_from([Switch.GOSSIP, Switch.TREE])
PACKETS = {
    Forward: st.builds(Forward, publications, hops)
    | st.builds(Forward, publications, hops, switches, several, several),
    Batch: st.builds(Batch, batches, hops),
    Advertise: st.builds(Advertise, st.builds(Advertisement, numbers, filters, st.booleans())),
    Unadvertise: st.builds(Unadvertise, numbers),
    Subscribe: st.builds(Subscribe, st.builds(Subscription, numbers, filters), numbers, hops),
    Unsubscribe: st.builds(Unsubscribe, numbers),
    Sweep: st.builds(Sweep, numbers, numbers, several),
    Direct: st.builds(Direct, publications),
    Join: st.builds(Join, numbers, numbers, numbers, several),
    Gossip: st.builds(Gossip, numbers, batches, several, several, several),
    Retrieve: st.builds(Retrieve, numbers, several),
    Retrieved: st.builds(Retrieved, batches),
}
packets = st.one_of(*PACKETS.values())


@pytest.mark.parametrize("kind", PACKETS)
@settings(deadline=None, max_examples=30)
@given(st.data())
def test_messages_read_as_they_were_written(kind, data):
    packet = data.draw(PACKETS[kind])
    assert decode(encode(packet)) == packet


def test_every_message_has_bytes():
    kinds = [kind for kind in vars(message).values() if isinstance(kind, type) and kind.__module__ == message.__name__]
    assert {kind for kind in kinds if issubclass(kind, Packet)} == set(PACKETS)
    with pytest.raises(TypeError, match="no message between brokers"):
        encode(Packet())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"forward":[1,2,3,"news",{}],"hops":1}',
        b'{"forward":[1,2,"x","news",{},""],"hops":1}',
        b'{"unadvertise":"7"}',
        b'{"subscribe":1,"filter":["news",{"x":{"range":[3,2]}}],"origin":1,"hops":1}',
        b'{"subscribe":1,"filter":["news",{}],"origin":1,"hops":0}',
        b'{"subscribe":1,"filter":["news",{"x":{"above":3}}],"origin":1,"hops":1}',
        b'{"gossip":1,"pushed":[]}',
        b'{"forward":[1,2,3,"news",{},""],"hops":1,"switch":"tea"}',
    ],
)
def test_what_is_no_message_is_the_sender_s_fault(data):
    with pytest.raises(MessageError, match="cannot be read"):
        decode(data)


@settings(deadline=None, max_examples=150)
@given(packets, st.data())
def test_whatever_bytes_come_they_are_a_message_or_an_error(packet, data):
    written = bytearray(encode(packet))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] = data.draw(st.integers(0, 255))
    with suppress(MessageError):
        assert isinstance(decode(bytes(written)), Packet)
