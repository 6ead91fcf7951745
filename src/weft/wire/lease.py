"""The lease of a node: how long it may rely on what the master has told it, and how long others wait for its end.

A node counts from when it asked, by its clock; who waits counts from when the master answered or was lost, by another.
So it is no lease if clocks that run apart by less than `DRIFT` could let a node rely on what others take for ended.
node/lease.py says what it is good for.
"""

DRIFT = 1.1  # times as fast as another that a clock may run
RELIED = 2.5  # seconds for which a node relies on its lease at most
LEASE = 3.0  # seconds after which the lease of a node has ended that cannot be asked

assert RELIED * DRIFT < LEASE
