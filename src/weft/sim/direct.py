"""The full mesh: every broker is linked with all others and sends a publication straight to each that subscribes.

What most clusters of brokers do today. Paths are one hop and there are no relays; the price are n (n - 1) / 2 links and
an issuer that sends all copies itself. All of it is known without routing anything.
"""

from time import perf_counter

import numpy as np

from weft.arrays import Int64s
from weft.kernels.routing.tally import MICRO
from weft.model.instance import Instance
from weft.model.publication import Publications
from weft.sim.evaluation import Counts, Evaluation

OVERLAY, ROUTER = "full-mesh", "direct"


def evaluate_direct(instance: Instance, publications: Publications) -> Evaluation:
    started = perf_counter()
    sent, received = _sent(instance, publications), _received(instance, publications)
    deliveries = int(sent.sum())
    counts = Counts(
        publications=len(publications),
        expected_deliveries=deliveries,
        deliveries=deliveries,
        messages=deliveries,
        routing_overhead=0,
        path_sum=deliveries,
        arrivals=deliveries,
        arrival_sum=deliveries,
        answered=(answered := int(np.count_nonzero(_others(instance, publications)))),
        mean_sum=answered * MICRO,
        maximum_path=min(deliveries, 1),
        sent=sent,
        received=received,
    )
    return Evaluation.from_counts(
        counts, router=ROUTER, overlay=OVERLAY, seconds=perf_counter() - started, most_links=instance.nodes - 1
    )


def _sent(instance: Instance, publications: Publications) -> Int64s:
    return np.bincount(publications.nodes, _others(instance, publications), minlength=instance.nodes).astype(np.int64)


def _others(instance: Instance, publications: Publications) -> Int64s:
    """The subscribers of every publication that did not issue it."""
    return instance.subscribers.counts[publications.topics] - _own(instance, publications)


def _received(instance: Instance, publications: Publications) -> Int64s:
    by_topic = np.bincount(publications.topics, minlength=instance.topics)
    came = np.bincount(instance.interest.row_of_each(), by_topic[instance.interest.indices], minlength=instance.nodes)
    own = np.bincount(publications.nodes, _own(instance, publications), minlength=instance.nodes)
    return (came - own).astype(np.int64)


def _own(instance: Instance, publications: Publications) -> Int64s:
    """1 for every publication whose issuer subscribes to it, else 0."""
    keys = instance.interest.row_of_each() * np.int64(instance.topics) + instance.interest.indices
    issued = publications.nodes * np.int64(instance.topics) + publications.topics
    return np.isin(issued, keys).astype(np.int64)
