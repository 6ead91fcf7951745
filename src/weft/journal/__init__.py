"""The durable log of a node: which files it has, what is in them after a crash, and when it is made small.

Generic: records are bytes. It decides and does no I/O of its own, but asks a `Folder` (port.py) for it, which is a disk
in `live` and a disk with faults in `sim`.
"""
