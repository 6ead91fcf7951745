"""Some nodes and their interests, as a Spark task gets them: a row a subscription, node and topic by their ids.

Topics are renumbered to those that occur, so that a task's memory depends on its own rows only.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.arrays import Bools, Int64s
from weft.model.csr import Csr, csr_from_pairs


@dataclass(frozen=True, eq=False)
class Members:
    nodes: Int64s
    topics: Int64s  # ascending
    interest: Csr  # of places in `nodes` and `topics`


def members(node: Int64s, topic: Int64s) -> Members:
    """Members of every topic, from a pair a subscription."""
    nodes, row = np.unique(node, return_inverse=True)
    topics, own_topic = np.unique(topic, return_inverse=True)
    return Members(nodes, topics, csr_from_pairs(row, own_topic, len(nodes), len(topics)))


def members_of_partition(table: pa.Table) -> tuple[Members, Bools]:
    """The partition of a task, and which of its topics others share."""
    topic = column(table, "topic")
    own = members(column(table, "node"), topic)
    shared = np.zeros(len(own.topics), np.bool_)
    shared[np.searchsorted(own.topics, topic)] = table["shared"].to_numpy()
    return own, shared


def together(first: Members, second: Members) -> Members:
    """The nodes of the first come first."""
    topics = np.union1d(first.topics, second.topics)
    nodes = np.concatenate([first.nodes, second.nodes])
    rows = np.concatenate([first.interest.row_of_each(), len(first.nodes) + second.interest.row_of_each()])
    named = np.concatenate([first.topics[first.interest.indices], second.topics[second.interest.indices]])
    return Members(
        nodes, topics, csr_from_pairs(rows.astype(np.int64), np.searchsorted(topics, named), len(nodes), len(topics))
    )


def column(table: pa.Table, name: str) -> Int64s:
    values: Int64s = table[name].to_numpy().astype(np.int64)
    return values


NOBODY = members(np.empty(0, np.int64), np.empty(0, np.int64))
