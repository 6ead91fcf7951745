"""Small changes of examples: what tears, forges and confuses."""

from collections.abc import Sequence
from random import Random

EDGES = (b"\0", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff")


def changed(random: Random, examples: Sequence[bytes]) -> bytes:
    """An example with one to five changes."""
    data = bytearray(random.choice(examples))
    for _ in range(random.randint(1, 5)):
        _change(random, data, examples)
    return bytes(data)


def _change(random: Random, data: bytearray, examples: Sequence[bytes]) -> None:
    at = random.randrange(len(data) + 1)
    span = min(int(random.expovariate(0.2)), len(data) - at)
    match random.randrange(8):
        case 0 if at < len(data):
            data[at] ^= 1 << random.randrange(8)
        case 1 if at < len(data):
            data[at] = random.randrange(256)
        case 2:
            data[at : at + span] = random.choice(EDGES)
        case 3:
            del data[at : at + span]
        case 4:
            data[at:at] = data[at : at + span] * random.randint(1, 4)
        case 5:
            del data[at:]
        case 6:
            other = random.choice(examples)
            data[at:] = other[random.randrange(len(other) + 1) :]
        case _:
            data[at:at] = random.randbytes(random.randint(1, 8))
