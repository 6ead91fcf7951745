"""The end of a network on this machine: a signal may come at any moment of the wait for it."""

import subprocess
import sys

SIGNALLED = """
import signal
from weft.live.fleet import Stop

stop = Stop()
signal.signal(signal.SIGALRM, lambda *_: stop.set())
for _ in range(300):
    signal.setitimer(signal.ITIMER_REAL, 0.0004)
    while not stop.wait(0.0001):
        pass
    assert stop.is_set()
    stop = Stop()
assert not stop.wait(0.0)
"""


def test_a_signal_at_any_moment_of_the_wait_ends_it() -> None:
    subprocess.run([sys.executable, "-c", SIGNALLED], check=True, timeout=60)
