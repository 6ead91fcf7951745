"""Fields of packets. A reader takes bytes and a place in them, and gives the value and the place behind it.

Readers raise `PacketError` where the bytes end too early; `end` is where the packet ends, not the buffer. Strings are
UTF-8 without U+0000 and without surrogates, which Python's strict decoder refuses, as it does overlong forms.
"""

from struct import Struct

from weft.wire.mqtt.reason import malformed

VARINT_MAXIMUM = 268_435_455  # 4 bytes of 7 bits
STRING_MAXIMUM = 65_535  # bytes

_U16 = Struct(">H")
_U32 = Struct(">I")


def read_u8(data: bytes, at: int, end: int) -> tuple[int, int]:
    if at >= end:
        raise malformed("A packet ends within a byte field.")
    return data[at], at + 1


def read_u16(data: bytes, at: int, end: int) -> tuple[int, int]:
    if at + 2 > end:
        raise malformed("A packet ends within a two byte integer.")
    return data[at] << 8 | data[at + 1], at + 2


def read_u32(data: bytes, at: int, end: int) -> tuple[int, int]:
    if at + 4 > end:
        raise malformed("A packet ends within a four byte integer.")
    value: int = _U32.unpack_from(data, at)[0]
    return value, at + 4


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in (0, 7, 14, 21):
        byte, at = read_u8(data, at, end)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 and shift:
                raise malformed("A variable byte integer has more bytes than it needs.")
            return value, at
    raise malformed("A variable byte integer is longer than four bytes.")


def read_binary(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    length, at = read_u16(data, at, end)
    if at + length > end:
        raise malformed("A packet ends within a string or binary data.")
    return data[at : at + length], at + length


def read_string(data: bytes, at: int, end: int) -> tuple[str, int]:
    raw, at = read_binary(data, at, end)
    return _decode_string(raw), at


def read_pair(data: bytes, at: int, end: int) -> tuple[tuple[str, str], int]:
    name, at = read_string(data, at, end)
    value, at = read_string(data, at, end)
    return (name, value), at


def _decode_string(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise malformed("A string is not UTF-8.") from error
    if "\0" in text:
        raise malformed("A string contains U+0000.")
    return text


def u8(value: int) -> bytes:
    return value.to_bytes()


def u16(value: int) -> bytes:
    return _U16.pack(value)


def u32(value: int) -> bytes:
    return _U32.pack(value)


def varint(value: int) -> bytes:
    if value < 0x80:
        return value.to_bytes()
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def binary(value: bytes) -> bytes:
    if len(value) > STRING_MAXIMUM:
        raise ValueError(f"A field of {len(value)} bytes is longer than MQTT's {STRING_MAXIMUM}.")
    return _U16.pack(len(value)) + value


def string(value: str) -> bytes:
    return binary(value.encode())


def pair(value: tuple[str, str]) -> bytes:
    return string(value[0]) + string(value[1])
