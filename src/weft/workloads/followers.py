"""PopSub's popularity of publishers (section 5.1): how many of the subscriptions each publisher gets.

Popularity follows either a social instance (a publisher is a user, its popularity the user's followers) or a
Zipf law, whose exponent the paper takes from 0.05, almost uniform, to 1.
"""

import numpy as np
import numpy.typing as npt

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.model.instance import Instance


def follower_counts(instance: Instance) -> Int64s:
    """Followers (subscribers) of each user (topic)."""
    return instance.subscribers.counts


def follower_popularity(instance: Instance, publishers: int, seed: int) -> Int64s:
    """The followers of publishers drawn from the users that have any, most popular first."""
    followed = follower_counts(instance)
    followed = followed[followed > 0]
    if not 1 <= publishers <= len(followed):
        raise WeftError(
            f"`publishers` {publishers} is out of range: {len(followed)} users have followers.", "publishers"
        )
    drawn = np.random.default_rng(seed).choice(followed, size=publishers, replace=False)
    return np.sort(drawn)[::-1]


def zipf_popularity(publishers: int, exponent: float) -> Floats:
    """Weights rank^-exponent of the publishers, most popular first."""
    if publishers < 1:
        raise WeftError(f"`publishers` {publishers} is out of range: give at least 1.", "publishers")
    if not 0.0 <= exponent < np.inf:
        raise WeftError(f"`exponent` {exponent} is out of range: give 0 or more; the paper has 0.05 to 1.", "exponent")
    return np.arange(1.0, publishers + 1.0) ** -exponent


def apportion(total: int, popularity: npt.ArrayLike) -> Int64s:
    """`total` subscriptions shared out in proportion to popularity, by largest remainder.

    They sum to `total`; at equal remainders the earlier publisher comes first.
    """
    weights = np.asarray(popularity, dtype=np.float64)
    if total < 0:
        raise WeftError(
            f"`subscriptions` {total} is negative: give the number of subscriptions in all.", "subscriptions"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise WeftError("Popularity must be finite, not negative, and above 0 for at least one publisher.")
    quotas = total * (weights / weights.sum())
    shares: Int64s = np.floor(quotas).astype(np.int64)
    missing = total - int(shares.sum())
    shares[np.argsort(shares - quotas, kind="stable")[:missing]] += 1
    return shares
