"""Ports that nobody listens on, below those that the system gives to whoever connects: nobody takes them meanwhile."""

import socket
from contextlib import ExitStack, suppress
from random import SystemRandom


def free_ports(count: int) -> list[int]:
    found: set[int] = set()
    while len(found) < count:
        port = SystemRandom().randrange(10_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.add(port)
    return list(found)


def free_port() -> int:
    return free_ports(1)[0]


def free_run(count: int) -> int:
    """The first of so many ports one after the other."""
    while True:
        first = SystemRandom().randrange(10_000, 32_000 - count)
        with suppress(OSError), ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
