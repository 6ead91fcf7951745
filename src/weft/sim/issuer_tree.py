"""What Weave's shared trees are measured by: a tree for each issuer, which no shared tree can have shorter paths than.

It has the same members, so the same relays; each issuer's is the tree of shortest paths from it, over their links.
"""

import numpy as np

from weft.errors import WeftError
from weft.kernels.routing.issuer_tree import issuer_paths
from weft.model.instance import Instance
from weft.model.publication import Publications
from weft.model.tree import Trees
from weft.trees.weave import Mesh


def average_path(instance: Instance, mesh: Mesh, trees: Trees, publications: Publications) -> float:
    """Average path of publications by subscribers; 0 without deliveries."""
    subscribers, topics = instance.subscribers, publications.topics
    subscriptions = subscribers.row_of_each() * np.int64(instance.nodes) + subscribers.indices
    if not np.all(np.isin(topics * np.int64(instance.nodes) + publications.nodes, subscriptions)):
        raise WeftError("A tree can be grown from an issuer that subscribes: let subscribers publish.")
    links = mesh.neighbours
    sums = issuer_paths(
        links.indptr,
        links.indices,
        trees.indptr,
        trees.members,
        subscribers.indptr,
        subscribers.indices,
        topics,
        publications.nodes,
    )
    deliveries = int((subscribers.counts[topics] - 1).sum())
    return float(sums.sum() / max(deliveries, 1))
