"""The interests of an instance under other numbers of its nodes, made range by range.

given_node_start, given_node_topic    of every node of the instance its topics
given_topic_start, given_topic_node   of every topic its subscribers
order                                 the nodes of the instance by their new numbers
node_start, node_topic, topic_start, topic_node    the same lists under the new numbers
"""

import numpy as np

from weft.arrays import Int64s
from weft.model.csr import Csr
from weft.overlays.arcs.workshop import Arrays, Columns, Workshop, ranges_by


def _topics_of_nodes(arrays: Arrays, first: int, last: int) -> Columns:
    given = Csr(arrays["given_node_start"], arrays["given_node_topic"], 0)
    return {"node_topic": given.take(arrays["order"][first:last]).indices}


def _nodes_of_topics(arrays: Arrays, first: int, last: int) -> Columns:
    start = arrays["given_topic_start"][first : last + 1]
    given = arrays["given_topic_node"][start[0] : start[-1]]
    nodes = np.int64(max(len(arrays["number"]), 1))
    keys = np.repeat(np.arange(last - first), np.diff(start)) * nodes + arrays["number"][given]
    keys.sort()
    return {"topic_node": (keys % nodes).astype(np.int32)}


def renumber(workshop: Workshop, step: str, order: Int64s) -> None:
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    counts = np.diff(workshop.arrays["given_node_start"])[order]
    topic_start = np.asarray(workshop.arrays["given_topic_start"])
    workshop.put(order=order, number=number, node_start=np.append(0, np.cumsum(counts)), topic_start=topic_start)
    workshop.run(f"{step}-nodes", _topics_of_nodes, ranges_by(counts + 1))
    workshop.run(f"{step}-topics", _nodes_of_topics, ranges_by(np.diff(topic_start) + 1))
