"""What is too long for one frame: it is sent in several, or refused where it begins, and ends no process."""

import pytest

from weft.broker.parameters import Parameters
from weft.errors import WeftError
from weft.live.peering import Peering
from weft.sim.cluster.cluster import Cluster
from weft.wire import frame as w
from weft.wire.frame_codec import BETWEEN_NODES, FROM_MASTER, MASTER_BYTES, TO_MASTER, FrameReader, TooLongError, encode
from weft.wire.frame_field import LINE_CHARACTERS, MOST_MANY, FrameError

SHORT = 100_000  # bytes that a frame may have here
HELLO = encode(w.Hello(w.VERSION, "c", w.Role.NODE, "a"))


@pytest.fixture
def short_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.wire.frame_codec.FRAME_BYTES", SHORT)
    monkeypatch.setattr("weft.node.carrier.CARRY_BYTES", SHORT // 4)
    monkeypatch.setattr("weft.node.retention.FRAME", SHORT // 8)


@pytest.mark.usefixtures("short_frames")
def test_a_node_that_joins_gets_more_retained_messages_than_a_frame_takes() -> None:
    world = Cluster(2, seed=5)
    world.start()
    writer = world.client("writer", 0)
    for number in range(60):
        writer.publish(f"kept/{number}", bytes(10_000), 1, True)
    world.wait(2.0)
    new = world.add()
    new.start()
    world.settle()
    world.wait(5.0)
    assert len(new.node.broker.retained()) == 60
    assert [node.starts for node in world.nodes] == [1, 1, 1]
    world.check_invariants()


@pytest.mark.usefixtures("short_frames")
def test_a_node_that_is_back_gets_more_than_a_frame_takes_of_what_it_is_owed() -> None:
    world = Cluster(2, seed=5)
    world.start()
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    world.nodes[1].crash()
    world.wait(2.0)
    for number in range(40):
        writer.publish("t", number.to_bytes(1) * 10_000, 1)
    world.wait(2.0)
    world.nodes[1].start()
    world.settle()
    world.connect(reader, 1)
    world.wait(5.0)
    assert {one.payload[0] for one in reader.got} == set(range(40))
    world.check_invariants()


def test_frames_with_the_master_may_be_longer_than_those_between_nodes() -> None:
    """All that a node holds comes at a time when it joins."""
    for kinds, kind, most in (
        (TO_MASTER, 10, MASTER_BYTES),
        (FROM_MASTER, 34, MASTER_BYTES),
        (BETWEEN_NODES, 50, 2**26),
    ):
        for length, is_read in ((most, True), (most + 1, False)):
            reader = FrameReader(kinds=kinds)
            reader.feed(HELLO)
            head = length.to_bytes(4) + bytes([kind])
            if is_read:
                assert reader.feed(head) == []
            else:
                with pytest.raises(FrameError, match="length"):
                    reader.feed(head)


@pytest.mark.parametrize(
    "frame",
    [
        w.Join("a", 1, -1, "a:1", tuple("x" * 65), 0),
        w.Join("a", 1, -1, "a:1", ("x" * (LINE_CHARACTERS + 1),), 0),
        w.Join("a" * (LINE_CHARACTERS + 1), 1, -1, "a:1", (), 0),
        w.Join("a", 1, -1, "a:1", (), 0, links=tuple(range(2**16 + 1))),
        w.Measured((), (), tuple((str(number), 1) for number in range(1001))),
        w.RetainedSync(tuple([1] * 257), (), True),
        w.Carry((w.Message(w.Form.WOVEN, 1, 1, 1, 1, 1, b""),) * 20_001),
    ],
)
def test_a_list_is_no_longer_than_what_anybody_has_to_say(frame: w.Frame) -> None:
    """What is a few bytes in a frame is a hundred where it is read."""
    with pytest.raises(FrameError, match=r"at most|for a name"):
        FrameReader().feed(encode(frame))


def test_a_list_is_refused_before_it_is_read() -> None:
    """A count is enough to tell."""
    data = bytearray(encode(w.ForgetWays(("a",))))
    data[5:9] = (MOST_MANY + 1).to_bytes(4)
    data += bytes(MOST_MANY)
    data[:4] = (len(data) - 4).to_bytes(4)
    with pytest.raises(FrameError, match="at most 2,000,000"):
        FrameReader().feed(bytes(data))


def test_a_packet_in_a_network_is_no_longer_than_a_frame() -> None:
    assert Parameters(packet_bytes=2**28 - 1).packet_bytes == 2**28 - 1
    with pytest.raises(WeftError, match="in a network give at most 50,331,648"):
        Parameters(packet_bytes=2**28 - 1, linked=True)


def test_a_frame_that_nobody_would_read_costs_its_connection_and_not_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bond:
        transport = None

        def add(self, data: bytes) -> None:
            raise AssertionError(data)

    class Defects:
        def __init__(self) -> None:
            self.met: list[Exception] = []

        def end_connection(self, error: Exception, transport: object) -> None:
            self.met.append(error)

    peering = object.__new__(Peering)
    peering._bonds, peering._told, peering._frame, peering.defects = {1: Bond()}, {}, None, Defects()  # type: ignore
    peering.tell(1, w.SessionMoved("c", 1, 0, True, (bytes(2**26),)))
    assert [type(one) for one in peering.defects.met] == [TooLongError]  # type: ignore[attr-defined]
    assert peering._told == {}
