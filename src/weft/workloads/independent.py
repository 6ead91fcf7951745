"""Interests drawn one by one (DC paper, section VIII-A): node v subscribes to topic t with probability q(t).

q(t) = min(1, c p(t)), with p(t) of Unif, Zipf or Expo as in `synthetic.py`, and c such that a node has the wanted
number of subscriptions on average. Nodes differ in that number, unlike those of `synthetic.py`, and DCBC lives on it:
where all have as many, its lead over DC shrinks, and is lost under Unif with many subscriptions and few topics.
"""

from typing import Literal

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError
from weft.model.instance import Instance, instance_from_pairs
from weft.workloads.synthetic import Expo, Unif, Zipf

Popularity = Literal["unif", "zipf", "expo"]

LAWS = {"unif": Unif, "zipf": Zipf, "expo": Expo}


def independent(popularity: Popularity, *, nodes: int, topics: int, subscriptions: float, seed: int) -> Instance:
    weights = np.exp(LAWS[popularity](nodes=nodes, topics=topics, subscriptions=1).log_weights())
    rng = np.random.default_rng(seed)
    subscribers = [np.flatnonzero(rng.random(nodes) < q) for q in probabilities(weights, subscriptions)]
    topic = np.repeat(np.arange(topics), [len(each) for each in subscribers])
    return instance_from_pairs(np.concatenate(subscribers), topic, node_count=nodes, topic_count=topics)


def probabilities(weights: Floats, total: float) -> Floats:
    """min(1, c * weights), whose sum is the given total; weights descend."""
    if not 0 < total <= len(weights):
        raise WeftError(
            f"`subscriptions` {total} is out of range: give a number up to {len(weights)}, the topics.", "subscriptions"
        )
    certain = np.arange(len(weights))  # how many topics everybody subscribes to
    factors = (total - certain) / np.cumsum(weights[::-1])[::-1]
    fits = np.flatnonzero(factors * weights <= 1)
    return np.minimum(1, factors[fits[0]] * weights) if len(fits) else np.ones(len(weights))
