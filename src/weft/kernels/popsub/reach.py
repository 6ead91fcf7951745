"""Where publications go on a broker tree, and what it is worth to send them there.

Of every publication one row says for each broker whether it is on the way to a matching subscription, and how many of
its own match: so brokers decide by looking at their neighbours' columns, and nobody matches twice.

A broker's links are numbered together, `indptr[b]` to `indptr[b + 1]`, by ascending peer.
"""

from weft.arrays import Int16s, Int32s, Int64s
from weft.kernels.jit import jit

OFF = -1  # the way


@jit
def reach_of(
    advertisements: Int64s,
    values: Int32s,
    bounds: Int64s,
    subscribers: Int32s,
    ranges: Int32s,
    issuers: Int64s,
    parents: Int64s,
    reach: Int16s,
) -> None:
    """Row p of reach, for the publication of values[p]: OFF, or the number of the broker's matching subscriptions.

    Subscriptions bounds[a] to bounds[a + 1] are those of advertisement a; on the way from s, parents[s, b] comes before
    b.
    """
    for publication in range(len(advertisements)):
        advertisement, value = advertisements[publication], values[publication]
        before = parents[issuers[advertisement]]
        row = reach[publication]
        row[:] = OFF
        row[issuers[advertisement]] = 0
        for subscription in range(bounds[advertisement], bounds[advertisement + 1]):
            if ranges[subscription, 0] <= value <= ranges[subscription, 1]:
                broker = subscribers[subscription]
                mark_way(row, before, broker)
                row[broker] += 1


@jit
def mark_way(row: Int16s, before: Int64s, broker: int) -> None:
    while row[broker] == OFF:
        row[broker] = 0
        broker = before[broker]


@jit
def worth_of(
    bounds: Int64s,
    subscribers: Int32s,
    issuers: Int64s,
    parents: Int64s,
    link_to: Int64s,
    counts: Int32s,
    hops: Int32s,
    origins: Int32s,
) -> None:
    """Fill in, for each [link, advertisement], the subscriptions beyond, the sum of their hops, and their brokers.

    link_to[s, b] is the link over which publications from s come to b. The subscriptions of an advertisement are in the
    order of their brokers.
    """
    for advertisement in range(len(issuers)):
        issuer = issuers[advertisement]
        previous = -1
        for subscription in range(bounds[advertisement], bounds[advertisement + 1]):
            subscriber = subscribers[subscription]
            broker, distance = subscriber, 0
            while broker != issuer:
                distance += 1
                link = link_to[issuer, broker]
                counts[link, advertisement] += 1
                hops[link, advertisement] += distance
                origins[link, advertisement] += subscriber != previous
                broker = parents[issuer, broker]
            previous = subscriber
