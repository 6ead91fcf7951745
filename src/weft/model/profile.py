"""What an instance is like, in a few numbers."""

from typing import Any

import numpy as np

from weft.arrays import Int64s
from weft.model.instance import Instance


def profile(instance: Instance) -> dict[str, Any]:
    return {
        **instance.counts,
        "social": instance.is_social,
        "source": instance.meta.get("source"),
        "seed": instance.meta.get("seed"),
        "topics_of_a_node": spread(instance.interest.counts),
        "subscribers_of_a_topic": spread(instance.subscribers.counts),
        "topics_without_subscribers": int(np.sum(instance.subscribers.counts == 0)),
        "nodes_without_topics": int(np.sum(instance.interest.counts == 0)),
        "fingerprint": instance.fingerprint,
    }


def spread(values: Int64s) -> dict[str, float]:
    if not len(values):
        return {}
    quantiles = {"median": 50, "p99": 99}
    return {
        "mean": round(float(values.mean()), 3),
        **{name: round(float(np.percentile(values, percent)), 3) for name, percent in quantiles.items()},
        "maximum": int(values.max()),
    }
