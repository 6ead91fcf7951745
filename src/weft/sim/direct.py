"""The full mesh: every broker is linked with all others and sends a publication straight to each that subscribes.

What most clusters of brokers do today. Paths are one hop and there are no relays; the price are n (n - 1) / 2 links and
an issuer that sends all copies itself. All of it is known without routing anything.
"""

from time import perf_counter

import numpy as np

from weft.arrays import Int64s
from weft.kernels.routing.tally import MICRO
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.publication import Publications
from weft.sim.evaluation import Counts, Evaluation, Times, distribution
from weft.sim.timed import some_of

OVERLAY, ROUTER = "full-mesh", "direct"


def evaluate_direct(instance: Instance, publications: Publications, latency: Latency | None = None) -> Evaluation:
    started = perf_counter()
    sent, received = _sent(instance, publications), _received(instance, publications)
    deliveries = int(sent.sum())
    topics = _by_topic(instance, publications)
    answered = int(np.count_nonzero(_others(instance, publications)))
    counts = Counts(
        publications=len(publications),
        expected_deliveries=deliveries,
        deliveries=deliveries,
        messages=deliveries,
        routing_overhead=0,
        path_sum=deliveries,
        maximum_path=min(deliveries, 1),
        sent=sent,
        received=received,
        topics=topics,
        averages=np.array([deliveries, deliveries, answered, answered * MICRO]),
    )
    return Evaluation.from_counts(
        counts,
        router=ROUTER,
        overlay=OVERLAY,
        seconds=perf_counter() - started,
        most_links=instance.nodes - 1,
        times=None if latency is None else _times(instance, some_of(publications), latency),
    )


def _times(instance: Instance, publications: Publications, latency: Latency) -> Times:
    """Half a round trip for every delivery."""
    subscribers = instance.subscribers.take(publications.topics)
    issuers, others = np.repeat(publications.nodes, subscribers.counts), subscribers.indices
    times = latency.round_trip(issuers, others)[issuers != others] / 2
    return Times(len(publications), distribution(times if len(times) else np.zeros(1)))


def _sent(instance: Instance, publications: Publications) -> Int64s:
    return np.bincount(publications.nodes, _others(instance, publications), minlength=instance.nodes).astype(np.int64)


def _others(instance: Instance, publications: Publications) -> Int64s:
    """Subscribers of every publication besides its issuer."""
    return instance.subscribers.counts[publications.topics] - _own(instance, publications)


def _by_topic(instance: Instance, publications: Publications) -> Int64s:
    """Figures by topic, as weft.sim.evaluation has them: all messages are deliveries, of one hop."""
    topics = instance.topics
    said = np.bincount(publications.topics, minlength=topics)
    sent = np.bincount(publications.topics, _others(instance, publications), minlength=topics).astype(np.int64)
    return np.column_stack([said, sent, sent, sent, np.zeros(topics, np.int64), sent, np.minimum(sent, 1)])


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
