"""Publishers of a fleet, from a CSV file of broker, topic and rate; a topic may be a filter.

Where a topic's publishers are known, bridges lead from them only, and a plan has far fewer lines.
"""

from pathlib import Path

import numpy as np

from weft.errors import WeftError
from weft.fleet.broker import rows_of
from weft.fleet.fleet import Fleet
from weft.fleet.nats import is_wild_subject
from weft.model.publisher import Publishers
from weft.model.topic import is_filter, is_wild

COLUMNS = ("broker", "topic", "rate")


def published_topics(path: Path, kind: str) -> list[str]:
    """Topics that the file has by name."""
    topics = {row["topic"] for _, row in rows_of(path, COLUMNS[:2], COLUMNS)}
    return sorted(name for name in topics if not (is_wild_subject(name) if kind == "nats" else is_wild(name)))


def read_publishing(path: Path, fleet: Fleet) -> Publishers:
    """Publishers; a filter shares its rate among the known topics that it matches."""
    number = {name: node for node, name in enumerate(fleet.brokers)}
    rates: dict[tuple[int, int], float] = {}
    for line, row in rows_of(path, COLUMNS[:2], COLUMNS):
        where = f"{path}, line {line}"
        if row["broker"] not in number:
            raise WeftError(f"{where}: broker {row['broker']!r} is not in the fleet.")
        if not is_filter(row["topic"]):
            raise WeftError(f"{where}: {row['topic']!r} is neither a topic nor a filter.")
        topics = list(fleet.find(row["topic"]))
        for topic in topics:
            key = number[row["broker"]], topic
            rates[key] = rates.get(key, 0.0) + _rate(row.get("rate", ""), where) / len(topics)
    nodes, topics_of = np.array(sorted(rates), np.int32).reshape(-1, 2).T
    return Publishers(nodes, topics_of, np.array([rates[key] for key in sorted(rates)]))


def _rate(text: str, where: str) -> float:
    try:
        rate = float(text or 1)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < float("inf"):
        raise WeftError(f"{where}: the rate is {text!r}, not a number from 0.")
    return rate
