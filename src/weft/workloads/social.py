"""A social graph of any size: heavy-tailed degrees, communities, and reciprocity as wanted.

A user is a node and a topic; a follower subscribes to the one it follows. The model, with z standard normal:

- Activity. A user draws a number of others, log-normal with its upper tail thinned: log(draws) = activity * z
  - bend * max(z, 0)^2 + constant. A share of the users is silent and draws nobody.
- Standing. A normal number of each user, correlated with the z of its activity. Who is drawn is decided by
  popularity, e^(near * standing) within a community and e^(far * standing) from outside.
- Communities. Users are put in order of log(draws) + mixing * (another z), and the order is cut into
  communities, each having `spread` times as many members as they draw on average. With little mixing a
  community has users of one degree, with much it has a core that all its members draw.
- Draws. Near draws are made in the own community: all but a share `outside` of a user's draws, as long as
  they are at most `density` of the community. All others are far draws, from all users. The draws of a user
  are distinct (weft.kernels.draw.distinct).
- Edges. A hash of the pair decides whether it is mutual or one-way, and in which direction; a draw makes both
  edges of a mutual pair (none that leaves a silent user), the edge of a one-way pair if it has its direction,
  and nothing otherwise. An edge may come up twice, once from each side of a mutual pair.

Cores make the clustering: those whom a user of few draws follows follow each other. Preferential attachment,
Kronecker and configuration graphs were not taken because their clustering vanishes as they grow, and with it
what linked users have in common, which is what overlays live on; forest fire and the like because their edges
depend on all earlier ones.

The share of mutual pairs and the number of draws follow from the reciprocity and the mean degree asked for,
by counting a sample of draws: how many fall on silent users, how many come from both sides, how many go
upward.

A user's draws depend on the seed and the user, given tables of a few numbers a user that every task can make
for itself. So any slice of the users can be made anywhere.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Floats, Int32s, Int64s, distinct
from weft.errors import WeftError
from weft.kernels.draw.group import group
from weft.kernels.draw.social import DROPPED, MUTUAL, Tables, alias_tables, community_bounds, draw_targets, fates
from weft.model.csr import Csr
from weft.workloads.regular import Pairs, require_count

SLICE = 1 << 17  # users drawn at a time
SAMPLE = 8_192  # draws counted to find how many make the wanted edges


@dataclass(frozen=True)
class Social:
    nodes: int  # users, at least 20
    subscriptions: float  # followed by a user on average, from 1 to a fifth of nodes
    reciprocity: float  # share of the edges whose reverse is an edge, from 0 to 1; less if silent users forbid
    silent: float  # share of users who follow nobody, from 0 to 0.5
    activity: float  # sigma of log(draws), from 0 to 3
    bend: float  # of the upper tail of log(draws), from 0 to 1
    near: float  # sigma of log(popularity) in the own community, from 0 to 5
    far: float  # sigma of log(popularity) elsewhere, from 0 to 5
    correlation: float  # of activity and popularity, from -1 to 1
    mixing: float  # of degrees in a community: sigma added to log(draws), from 0 to 10
    spread: float  # members of a community for each draw of its mean member, from 0.5 to 100
    density: float  # most draws of a user in its community, as a share of it, from 0 to 1
    outside: float  # share of a user's draws made outside its community in any case, from 0 to 1
    upward: float  # probability that a one-way pair points at the more popular user, from 0.5 to 1

    def __post_init__(self) -> None:
        require_count("nodes", self.nodes)
        if self.nodes < 20:
            raise WeftError(f"`nodes` {self.nodes} is too few for a social graph: give at least 20.", "nodes")
        for option, (low, high) in {"subscriptions": (1, self.nodes / 5), **RANGES}.items():
            value = getattr(self, option)
            if not low <= value <= high:
                raise WeftError(f"`{option}` {value} is out of range: give a number from {low:g} to {high:g}.", option)

    @property
    def topics(self) -> int:
        return self.nodes

    def pairs(self, seed: int, first: int, last: int) -> Pairs:
        """The edges (follower, followed) made by the draws of the users from `first` to before `last`.

        Those of mutual pairs that drew each other are made by both: within the slice or across slices, they
        are duplicates.
        """
        crowd = crowd_of(self, seed)
        sources, targets = _drawn(crowd, crowd.places[first:last])
        fate = fates(seed, sources, targets, crowd.standing, crowd.mutual, self.upward)
        kept = fate != DROPPED
        back = (fate == MUTUAL) & ~crowd.silent[targets]
        followers = np.concatenate([sources[kept], targets[back]])
        followed = np.concatenate([targets[kept], sources[back]])
        return crowd.users[followers], crowd.users[followed]

    def interest(self, seed: int) -> Csr:
        starts = range(0, self.nodes, SLICE)
        slices = [self.pairs(seed, start, min(start + SLICE, self.nodes)) for start in starts]
        followers, followed = (np.concatenate(column) for column in zip(*slices, strict=True))
        indptr, indices = group(followers, followed, self.nodes)
        return Csr(indptr, indices, self.nodes)


RANGES = {
    "reciprocity": (0, 1),
    "silent": (0, 0.5),
    "activity": (0, 3),
    "bend": (0, 1),
    "near": (0, 5),
    "far": (0, 5),
    "correlation": (-1, 1),
    "mixing": (0, 10),
    "spread": (0.5, 100),
    "density": (0, 1),
    "outside": (0, 1),
    "upward": (0.5, 1),
}


def like_facebook(nodes: int, subscriptions: float | None = None, reciprocity: float = 1.0) -> Social:
    """Calibrated on ego-Facebook: friendships, which count both ways, among users of like degree."""
    return Social(
        nodes,
        min(44, nodes / 5) if subscriptions is None else subscriptions,
        reciprocity,
        silent=0.0,
        activity=1.32,
        bend=0.14,
        near=2.28,
        far=1.43,
        correlation=1.0,
        mixing=0.66,
        spread=3.5,
        density=0.755,
        outside=0.03,
        upward=0.5,
    )


def like_twitter(nodes: int, subscriptions: float | None = None, reciprocity: float = 0.482) -> Social:
    """Calibrated on ego-Twitter: communities around those whom all follow, half of the edges mutual."""
    return Social(
        nodes,
        min(22, nodes / 5) if subscriptions is None else subscriptions,
        reciprocity,
        silent=0.12,
        activity=1.54,
        bend=0.16,
        near=1.86,
        far=3.29,
        correlation=0.92,
        mixing=1.7,
        spread=3.5,
        density=0.56,
        outside=0.0,
        upward=0.7,
    )


def like_facebook_crawl(nodes: int, subscriptions: float | None = None, reciprocity: float = 1.0) -> Social:
    """Calibrated on what is told of the crawl that BeaConvey sampled: section 5.2; Wilson et al. 2009, who made it.

    28.3 million friendships of 3 million users, none of whom has more than 5,000; a clustering of 0.164, where the ego
    networks have 0.6: friends outside the community make the difference.
    """
    made = like_facebook(nodes, min(18.9, nodes / 5) if subscriptions is None else subscriptions, reciprocity)
    return replace(made, bend=0.05, outside=0.37)


def like_twitter_crawl(nodes: int, subscriptions: float | None = None, reciprocity: float = 0.362) -> Social:
    """Calibrated on what is told of the crawl that BeaConvey sampled: section 5.2; Kwak et al. 2010, who made it.

    1.47 billion relations of 41.7 million users; of the pairs that are linked 22.1 % are mutual, which is 36.2 % of the
    relations. Nobody has told its clustering, so that communities are those of ego-Twitter.
    """
    made = like_twitter(nodes, min(35.3, nodes / 5) if subscriptions is None else subscriptions, reciprocity)
    return replace(made, bend=0.05)


LIKE = {
    "twitter": like_twitter,
    "facebook": like_facebook,
    "twitter-crawl": like_twitter_crawl,
    "facebook-crawl": like_facebook_crawl,
}


def social(
    nodes: int,
    topics: int | None = None,
    subscriptions: float | None = None,
    like: str = "twitter",
    reciprocity: float | None = None,
) -> Social:
    """A graph like the named one; what is not given is as there, or less where the nodes are few."""
    if topics not in (None, nodes):
        raise WeftError(
            f"`topics` {topics} is not `nodes` {nodes}: in a social graph every user is a topic.", "topics", "nodes"
        )
    if like not in LIKE:
        raise WeftError(f"`like` {like} is unknown: choose one of {', '.join(LIKE)}.", "like")
    made = LIKE[like](nodes, subscriptions)
    return made if reciprocity is None else replace(made, reciprocity=reciprocity)


class Crowd(NamedTuple):
    """The users of one graph: what their draws depend on."""

    seed: int
    users: Int32s  # by place
    places: Int64s  # by user
    silent: Bools  # by place
    standing: Floats  # by place
    tables: Tables
    mutual: float  # share of pairs that are mutual


def _drawn(crowd: Crowd, places: Int64s) -> Pairs:
    """All draws of the places: who draws, and whom."""
    counts = crowd.tables.near[places] + crowd.tables.far[places]
    offsets = np.zeros(len(places) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    targets = draw_targets(crowd.seed, places, offsets, crowd.tables)
    return np.repeat(places.astype(np.int32), counts), targets


@lru_cache(maxsize=2)
def crowd_of(social: Social, seed: int) -> Crowd:
    """The users with as many draws and mutual pairs as make the wanted edges."""
    edges = social.nodes * social.subscriptions
    mutual, edges_a_draw = _balance(social, seed, _assemble(social, seed, edges))
    return _assemble(social, seed, edges / edges_a_draw)._replace(mutual=mutual)


def _balance(social: Social, seed: int, crowd: Crowd) -> tuple[float, float]:
    """The share of mutual pairs that gives the wanted reciprocity, and the edges that a draw then makes.

    Of the draws let s fall on silent users, b be made from both sides, and a have the direction that their
    pair has if it is one-way. With a share m of mutual pairs a draw makes m * (2 * (1 - s) - b) edges that
    have a reverse and m * s + (1 - m) * a that have none; the reciprocity is the first over the sum.
    """
    rng = np.random.default_rng([seed, 1])
    sources, targets = _drawn(crowd, rng.permutation(social.nodes)[:SAMPLE])
    sample = rng.permutation(len(sources))[:SAMPLE]
    sources, targets = sources[sample], targets[sample]
    s = crowd.silent[targets].mean()
    b = _are_drawn(crowd, targets, sources).mean()
    is_upward = crowd.standing[sources] < crowd.standing[targets]
    a = np.where(is_upward, social.upward, 1.0 - social.upward).mean()
    r = social.reciprocity
    divisor = (1.0 - r) * (2.0 * (1.0 - s) - b) + r * (a - s)
    m = r * a / divisor if divisor > r * a else 1.0
    return m, m * (2.0 * (1.0 - s) - b) + m * s + (1.0 - m) * a


def _are_drawn(crowd: Crowd, sources: Int32s, targets: Int32s) -> Bools:
    """Whether each source draws its target; the pairs are distinct."""
    users = np.int64(len(crowd.users))
    all_sources, all_targets = _drawn(crowd, distinct(sources).astype(np.int64))
    return np.isin(sources * users + targets, all_sources * users + all_targets, assume_unique=True)


def _assemble(social: Social, seed: int, draws: float) -> Crowd:
    """The users, with `draws` in all between them."""
    rng = np.random.default_rng([seed, 0])
    z_activity, z_popularity, z_order = rng.standard_normal((3, social.nodes))
    log_activity = social.activity * z_activity - social.bend * np.maximum(z_activity, 0.0) ** 2
    standing = social.correlation * z_activity + np.sqrt(1.0 - social.correlation**2) * z_popularity

    users = np.argsort(log_activity + social.mixing * z_order).astype(np.int32)
    places = np.empty(social.nodes, dtype=np.int64)
    places[users] = np.arange(social.nodes)
    activity, standing = np.exp(log_activity[users]), standing[users]
    silent = rng.random(social.nodes) < social.silent
    bounds = community_bounds(activity * (draws / activity.sum()), social.spread)
    sizes = np.repeat(np.diff(bounds), np.diff(bounds))

    voiced = np.where(silent, 0.0, activity)
    counts = np.minimum(_rounded(rng, voiced * (draws / voiced.sum())), social.nodes - 1)
    near = _rounded(rng, np.minimum(counts * (1.0 - social.outside), sizes * social.density))
    near = np.minimum(near, np.minimum(counts, sizes - 1))
    tables = _tables_of(bounds, near, counts - near, social.near * standing, social.far * standing)
    return Crowd(seed, users, places, silent, standing, tables, mutual=0.0)


def _rounded(rng: np.random.Generator, values: Floats) -> Int32s:
    """Values rounded up or down at random, so that the mean is kept."""
    return np.floor(values + rng.random(len(values))).astype(np.int32)


def _tables_of(bounds: Int64s, near: Int32s, far: Int32s, near_log_weights: Floats, far_log_weights: Floats) -> Tables:
    sizes = np.diff(bounds)
    return Tables(
        np.repeat(bounds[:-1], sizes).astype(np.int32),
        np.repeat(bounds[1:], sizes).astype(np.int32),
        near.astype(np.int32),
        far.astype(np.int32),
        near_log_weights,
        *alias_tables(bounds, near_log_weights),
        far_log_weights,
        *alias_tables(np.array([0, len(near)]), far_log_weights),
    )
