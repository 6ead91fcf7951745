"""Bytes of a connection between nodes and master <-> frames. Incremental, no I/O.

    frame  length u32 of what follows, kind u8, fields

One table gives each frame its number and the kinds of its fields. What cannot be read is one error, after which the
connection is of no use.

Messages of publications are the many, and have a grammar of their own: a byte says which fields follow, and a content
that is the same as the message's before is not written twice (a publication that travels on several trees).
"""

from collections.abc import Sequence
from struct import Struct, error

from weft.wire import frame as w
from weft.wire.content import content_of
from weft.wire.frame_field import (
    AMOUNT,
    BLOB,
    BYTE,
    COUNT,
    FILTER,
    FLAG,
    LINE,
    MEMBER,
    MILLISECONDS,
    MOMENT,
    MOST_RING,
    MOST_TALLY,
    NAME,
    NODE,
    NUMBER,
    RING_ID,
    RING_SIZE,
    SHORT,
    TALLY,
    TEXT,
    FrameError,
    Kind,
    enum_of,
    many,
    number,
    perhaps,
    record_of,
    together,
)

FRAME_BYTES = 64 * 2**20  # of one frame between nodes: a publication fits (MOST_PUBLICATION), and some besides
MASTER_BYTES = 192 * 2**20  # of one with the master: all that a node holds when it joins (broker/declaration.py)
CARRY_BYTES, CARRY_MESSAGES = 8 * 2**20, 10_000  # of messages in a frame from which the next begins another
MOST_MESSAGES = 2 * CARRY_MESSAGES
MOST_PUBLICATION = 48 * 2**20  # of a packet of a client, in a network

_HEAD = Struct(">BBQIQQ")  # form and flags, hops, topic, issuer, incarnation, count
_CUSTODY = Struct(">HQ")  # attempt, floor
_RANGE = Struct(">QQ")
_TOKEN = Struct(">Q")
PLACE = Struct(">QIQQ")  # topic, issuer, incarnation, count
_PASSING = Struct(">IBB?I")  # length, kind, hops, whether it enters, length of the rest
HOPS, ENTERS, REST = 5, 6, _PASSING.size  # where they stand in a frame Passing
_SAME, _KEPT, _GROUP, _TRACED = 4, 8, 16, 32


def _write_messages(messages: Sequence[w.Message]) -> bytes:
    parts = [COUNT.write(len(messages))]
    before: bytes | None = None
    for one in messages:
        same = one.content is before
        flags = one.form | same << 2 | one.kept << 3 | (one.group != "") << 4 | (one.token != 0) << 5
        parts.append(_HEAD.pack(flags, min(one.hops, 255), one.topic, one.issuer, one.incarnation, one.count))
        if one.kept:
            parts.append(_CUSTODY.pack(one.attempt, one.floor))
        if one.form == w.Form.ENTERING:
            parts.append(_WAY.write(one.way))
        elif one.form == w.Form.RANGED:
            parts.append(_RANGE.pack(one.low, one.high))
        if one.group:
            parts.append(TEXT.write(one.group))
        if one.token:
            parts.append(_TOKEN.pack(one.token))
        if not same:
            parts += (COUNT.write(len(one.content)), one.content)
            before = one.content
    return b"".join(parts)


def _read_messages(data: bytes, at: int) -> tuple[tuple[w.Message, ...], int]:
    total, at = COUNT.read(data, at)
    if total > MOST_MESSAGES:
        raise FrameError(f"A frame has {total:,} messages, and at most {MOST_MESSAGES:,} are taken.")
    messages: list[w.Message] = []
    content: bytes | None = None
    try:
        for _ in range(total):
            one, content, at = _read_message(data, at, content)
            messages.append(one)
    except error as cause:
        raise FrameError("A frame ends within a message.") from cause
    return tuple(messages), at


def _read_message(data: bytes, at: int, before: bytes | None) -> tuple[w.Message, bytes, int]:
    flags, hops, topic, issuer, incarnation, count = _HEAD.unpack_from(data, at)
    at += 30
    form = flags & 3
    if form > 2 or flags > 63:
        raise FrameError(f"A message has the unknown form 0x{flags:02X}.")
    one = w.Message(_FORMS[form], topic, issuer, incarnation, count, hops, b"")
    if flags & _KEPT:
        one.kept = True
        one.attempt, one.floor = _CUSTODY.unpack_from(data, at)
        count = max(count, one.floor)
        at += 10
    if form == 1:
        one.way, at = _WAY.read(data, at)
    elif form == 2:
        one.low, one.high = _RANGE.unpack_from(data, at)
        if max(one.low, one.high) > MOST_RING:
            raise FrameError("A message is for a part of the ring that there is not.")
        at += 16
    _require_count(count)
    if flags & _GROUP:
        one.group, at = TEXT.read(data, at)
    if flags & _TRACED:
        one.token = _TOKEN.unpack_from(data, at)[0]
        at += 8
    if not flags & _SAME:
        content, at = BLOB.read(data, at)
    elif before is not None:
        content = before
    else:
        raise FrameError("The first message of a frame has no content.")
    one.content = content
    return one, content, at


def _require_count(count: int) -> None:
    if count > MOST_TALLY:
        raise FrameError(f"A message has the number {count}.")


def message_of(passing: w.Passing) -> w.Message:
    """A message that came alone, as others are."""
    rest, form = passing.rest, w.Form.ENTERING if passing.enters else w.Form.WOVEN
    if len(rest) < PLACE.size:
        raise FrameError("A frame ends within a message.")
    topic, issuer, incarnation, count = PLACE.unpack_from(rest)
    _require_count(count)
    return w.Message(form, topic, issuer, incarnation, count, passing.hops, content_of(rest, PLACE.size))


def _read_options(data: bytes, at: int) -> tuple[int, int]:
    """The byte of SUBSCRIBE: QoS, no local, as published, retain handling."""
    value, at = BYTE.read(data, at)
    if value & 3 > 2 or value >> 4 > 2:
        raise FrameError(f"A subscription has the options 0x{value:02X}.")
    return value, at


_FORMS = list(w.Form)
_WAY = many(MEMBER)
MESSAGES = Kind(_read_messages, _write_messages)

# Ranges of one field each
MEMBERS = number(">I", 1, 2**31)  # who holds a filter is somebody
OPTIONS = Kind(_read_options, BYTE.write)
IDENTIFIER = number(">I", 0, 268_435_455)  # as MQTT has it; 0 is none
MQTT_VERSION = number(">B", 3, 5)
PART = number(">I", 0, 2**20)  # of what is too long for one frame

HELD = record_of(w.Held, FILTER, MEMBERS, FLAG)
SUBSCRIBED = record_of(w.Subscribed, FILTER, OPTIONS, IDENTIFIER)
OWNED = record_of(w.Owned, TEXT, COUNT, MQTT_VERSION, many(SUBSCRIBED), TALLY)
PEER = record_of(w.Peer, MEMBER, TEXT, TEXT, RING_ID, FLAG, FLAG)
TABLE = record_of(w.Table, NUMBER, perhaps(many(MEMBER)), FLAG)
HOLDER = record_of(w.Holder, MEMBER, RING_ID, MEMBERS)
LISTED = record_of(w.Listed, FILTER, many(HOLDER))
TROUBLE = record_of(w.Trouble, TALLY, many(MEMBER), FLAG, FLAG)
ORIGIN = together(COUNT, NUMBER, TALLY)  # issuer, which is none where sessions alone have it, incarnation, count
RETAINED = together(COUNT, NUMBER, TALLY, BLOB)


def _frame(made: type[w.Frame], *kinds: Kind) -> tuple[type[w.Frame], Kind]:
    return made, record_of(made, *kinds)


KINDS: dict[int, tuple[type[w.Frame], Kind]] = {
    1: _frame(w.Hello, SHORT, TEXT, enum_of(w.Role), TEXT, NODE, NUMBER, TEXT),
    2: _frame(w.Refused, TEXT),
    3: _frame(w.Ping, TALLY),
    4: _frame(w.Pong, TALLY),
    10: _frame(
        w.Join, LINE, NUMBER, NODE, LINE, many(LINE, 64), TALLY, many(HELD), many(OWNED), many(MEMBER, 2**16), TALLY
    ),
    11: _frame(w.Interest, TALLY, many(HELD), many(FILTER)),
    12: _frame(w.SessionOwned, OWNED, FLAG, many(FILTER)),
    13: _frame(w.SessionEnded, TEXT, TALLY),
    14: _frame(w.FindWay, FILTER),
    15: _frame(w.FindSession, TEXT, NUMBER, FLAG, FLAG),
    16: _frame(w.LinkLost, MEMBER),
    17: _frame(w.LinkMade, MEMBER, MILLISECONDS),
    18: _frame(
        w.Measured,
        many(together(TEXT, AMOUNT, AMOUNT), 100_000),
        many(together(MEMBER, MILLISECONDS), 2**16),
        many(together(LINE, TALLY), 1000),
    ),
    19: _frame(w.Leaving),
    20: _frame(w.Traced, NUMBER, NODE, BYTE, MOMENT, COUNT),
    21: _frame(w.Applied, TALLY),
    22: _frame(w.Confirm, NUMBER),
    23: _frame(w.SessionGathered, TEXT, MEMBER),
    24: _frame(w.ForgetWays, many(FILTER)),
    30: _frame(w.Welcome, MEMBER, RING_ID, RING_SIZE, TEXT),
    31: _frame(w.Peers, TALLY, RING_ID, RING_SIZE, many(PEER)),
    32: _frame(w.Tables, TALLY, many(TABLE), FLAG),
    33: _frame(w.Way, TALLY, FILTER, FLAG, many(MEMBER)),
    34: _frame(w.Filters, TALLY, many(LISTED), many(FILTER), FLAG),
    35: _frame(w.NeighbourInterests, MEMBER, many(NUMBER), many(NUMBER), FLAG),
    36: _frame(w.Down, MEMBER, RING_ID, many(FILTER), many(FILTER)),
    37: _frame(w.Back, MEMBER, RING_ID),
    38: _frame(w.Removed, MEMBER),
    39: _frame(w.SessionAt, NUMBER, TALLY, NODE, many(together(MEMBER, RING_ID, FLAG)), perhaps(OWNED)),
    40: _frame(w.Leave),
    41: _frame(w.Trace, NUMBER, NAME),
    42: _frame(w.InPlace, TALLY),
    43: _frame(w.Confirmed, NUMBER),
    44: _frame(w.Parted),
    45: _frame(w.Places, many(together(MEMBER, RING_ID)), FLAG),
    46: _frame(w.SessionClaimed, TEXT, FLAG),
    47: _frame(w.EndOfTurn),
    48: _frame(w.Revoked, many(together(TEXT, MOMENT))),
    50: _frame(w.Carry, MESSAGES),
    51: _frame(w.Acked, many(together(TALLY, TALLY)), many(TROUBLE)),
    52: _frame(w.Routed, MEMBER, RING_ID, MEMBER, RING_ID, BYTE, BLOB),
    53: _frame(w.FetchSession, TEXT, NUMBER, TALLY, FLAG, FLAG),
    54: _frame(
        w.SessionMoved,
        TEXT,
        NUMBER,
        PART,
        FLAG,
        many(BLOB),
        many(ORIGIN),
        many(together(MEMBER, RING_ID, many(TEXT))),  # of filters, or all
        TALLY,
    ),
    55: _frame(w.SessionTaken, TEXT, NUMBER),
    56: _frame(w.RetainedDigest, many(NUMBER, 256)),
    57: _frame(w.RetainedSync, many(BYTE, 256), many(RETAINED), FLAG),
    58: _frame(w.Passing, BYTE, FLAG, BLOB),
    59: _frame(w.Graft, NUMBER, FLAG),
    60: _frame(w.Grafted, NUMBER, FLAG),
    61: _frame(w.Ungrafted, NUMBER),
    62: _frame(w.SessionComing, TEXT, NUMBER, many(together(SHORT, NUMBER)), FLAG, many(ORIGIN)),
}
PASSING = 58
_NUMBERS = {made: (BYTE.write(number), kind.write) for number, (made, kind) in KINDS.items()}


class TooLongError(ValueError):
    """A frame that nobody would read."""


def encode_body(frame: w.Frame) -> bytes:
    """A frame without its length."""
    number, write = _NUMBERS[type(frame)]
    return number + write(frame)


def encode(frame: w.Frame) -> bytes:
    """Bytes of a frame. One that nobody would read costs its connection, and neither end."""
    if type(frame) is w.Passing and len(frame.rest) <= FRAME_BYTES - 7:
        return passing(frame.hops, frame.enters, frame.rest)
    body = encode_body(frame)
    most = MASTER_BYTES if body[0] in WITH_MASTER else FRAME_BYTES
    if len(body) > most:
        raise TooLongError(f"A {type(frame).__name__} of {len(body):,} bytes is longer than {most:,}.")
    return COUNT.write(len(body)) + body


def passing(hops: int, enters: bool, rest: bytes) -> bytes:
    """A frame Passing, encoded."""
    length = len(rest)
    return _PASSING.pack(length + 7, PASSING, hops, enters, length) + rest


def passing_of(data: bytes) -> w.Passing:
    """The frame Passing that bytes are."""
    return w.Passing(data[HOPS], data[ENTERS] != 0, data[REST:])


def decode_body(body: bytes) -> w.Frame:
    number, at = BYTE.read(body, 0)
    if number not in KINDS:
        raise FrameError(f"A frame has the unknown kind {number}: use the same version of Weft everywhere.")
    made, kind = KINDS[number]
    value, at = kind.read(body, at)
    if at != len(body):
        raise FrameError(f"A frame {made.__name__} has {len(body) - at} bytes too many.")
    frame: w.Frame = value
    return frame


# Who may say what. A connection begins with Hello, which is short.
HELLO = 1
ANYBODY = frozenset(range(1, 10))
TO_MASTER = frozenset(range(10, 30))
FROM_MASTER = frozenset(range(30, 50))
BETWEEN_NODES = frozenset(range(50, 70))
WITH_MASTER = TO_MASTER | FROM_MASTER
HELLO_BYTES = 4096

MASTERS_WORDS = frozenset(made for number, (made, _) in KINDS.items() if number in FROM_MASTER)
NODES_WORDS = frozenset(made for number, (made, _) in KINDS.items() if number in BETWEEN_NODES)


class FrameReader:
    """Takes the bytes of one connection in pieces of any size, and gives the frames that are complete.

    Size and kind are looked at before anything else of a frame: until Hello only what anybody may say is read.
    """

    def __init__(self, kinds: frozenset[int] | None = None) -> None:
        self._later = FRAME_BYTES if kinds is BETWEEN_NODES else MASTER_BYTES
        self._limit = self._later if kinds is None else HELLO_BYTES
        self._kinds = kinds  # that the other end may say, besides those of anybody; None is any, from the first on
        self._greeted = kinds is None
        self._rest = bytearray()
        self._need = 4
        self._passes = kinds is None or PASSING in kinds

    def is_lone(self, data: bytes) -> bool:
        """Whether a read has brought one Passing, whole and alone, that the other end may say."""
        size = len(data)
        if size < _PASSING.size or data[4] != PASSING or size > self._limit:
            return False
        length, _, _, _, rest = _PASSING.unpack_from(data)
        return length == size - 4 and rest == length - 7 and not self._rest and self._greeted and self._passes

    def feed(self, data: bytes) -> list[w.Frame]:
        self._rest += data
        frames: list[w.Frame] = []
        at = 0
        while len(self._rest) - at >= self._need:
            length = int.from_bytes(self._rest[at : at + 4])
            if not 0 < length <= self._limit:
                raise FrameError(f"A frame has a length of {length:,} bytes: this is no connection of Weft's.")
            end = at + 4 + length
            if len(self._rest) > at + 4 and self._kinds is not None:
                self._require_kind(self._rest[at + 4], self._kinds)
            if end > len(self._rest):
                self._need = end - at
                break
            frames.append(decode_body(bytes(self._rest[at + 4 : end])))
            at, self._need = end, 4
        del self._rest[:at]
        return frames

    def _require_kind(self, kind: int, kinds: frozenset[int]) -> None:
        if kind == HELLO:
            self._greeted, self._limit = True, self._later
        elif kind not in ANYBODY and not (self._greeted and kind in kinds):
            made = KINDS[kind][0].__name__ if kind in KINDS else f"of the unknown kind {kind}"
            raise FrameError(f"A frame {made} comes from somebody who may not say it.")
