"""Several instances over disjoint nodes as one: the nodes of the first come first, and so on.

Topics are the same where they have the same name; without names, where they have the same number.
"""

from collections.abc import Sequence

import numpy as np

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.model.instance import Instance, Names, instance_from_pairs


def union(instances: Sequence[Instance]) -> Instance:
    firsts = np.cumsum([0] + [instance.nodes for instance in instances[:-1]])
    topics, names = _common_topics(instances)
    return instance_from_pairs(
        np.concatenate([first + each.interest.row_of_each() for first, each in zip(firsts, instances, strict=True)]),
        np.concatenate([new[each.interest.indices] for new, each in zip(topics, instances, strict=True)]),
        node_count=sum(instance.nodes for instance in instances),
        topic_count=1 + max((int(new.max(initial=-1)) for new in topics), default=-1),
        node_names=_node_names(instances),
        topic_names=names,
    )


def _common_topics(instances: Sequence[Instance]) -> tuple[list[Int64s], Names | None]:
    """New numbers of the topics of every instance, and the names of the new numbers."""
    named = [instance.topic_names for instance in instances if instance.topic_names is not None]
    if not named:
        return [np.arange(instance.topics) for instance in instances], None
    if len(named) < len(instances):
        raise WeftError(
            "Some of the instances name their topics and others do not, so that nobody knows which are the same."
        )
    names, numbers = np.unique(np.concatenate(named).astype(str), return_inverse=True)
    ends = np.cumsum([len(each) for each in named])[:-1]
    return np.split(numbers, ends), names.astype(object)


def _node_names(instances: Sequence[Instance]) -> Names | None:
    named = [instance.node_names for instance in instances if instance.node_names is not None]
    if len(named) < len(instances):
        return None
    names, counts = np.unique(np.concatenate(named).astype(str), return_counts=True)
    if np.any(counts > 1):
        raise WeftError(
            f"Node {names[counts > 1][0]} is in more than one of the instances: their nodes must be disjoint."
        )
    return np.concatenate(named)
