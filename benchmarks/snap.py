"""SNAP's edge lists as instances, in memory; `weft ingest` does it at any size."""

from pathlib import Path

import numpy as np

from weft.model.instance import Instance, instance_from_pairs


def read_snap(path: Path, *, both_ways: bool) -> Instance:
    edges = np.loadtxt(path, dtype=np.int64)
    edges = edges[edges[:, 0] != edges[:, 1]]
    users, ids = np.unique(edges, return_inverse=True)
    sources, targets = ids.reshape(edges.shape).T
    if both_ways:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    return instance_from_pairs(sources, targets, node_count=len(users), topic_count=len(users), social=True)
