"""The greedy for an overlay that is there already: a link that is there is favoured over new ones.

The link of highest contribution is taken, as in every greedy here, but what a link contributes that is there counts
FAVOUR times. So it stays as long as no new link would contribute more than FAVOUR times as much, and is closed where it
contributes nothing: the subscribers that it joined have left, or others join them by now.

Each link that is taken contributes at least 1 / FAVOUR of the highest at its time. Of such a greedy the logarithmic
bound of the greedy itself holds, times FAVOUR, whatever links were there before. So repairs do not add up: the bound
after the hundredth is that after the first, and no history is kept.

What links contribute is looked at in levels, the highest first: at level c new links of more than FAVOUR * c are taken,
then those that are there and contribute c. Levels are a tenth apart above 10, so that there are few.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Bools, Int32s
from weft.kernels.greedy.connectivity import Connectivity, join_all
from weft.kernels.greedy.constraint import Constraint
from weft.kernels.greedy.keeping import keep
from weft.kernels.greedy.overlap import overlaps
from weft.model.csr import Csr
from weft.overlays.lazy_greedy import ChosenLinks, added_links

FAVOUR = 2  # from 1, which favours no link that is there but by chance; the more, the fewer links change


@dataclass(frozen=True, eq=False)
class Favoured:
    kept: Bools  # of every link that was there, whether it stays
    contributions: Int32s  # of every link that was there; of those that stay, at their time
    opened: ChosenLinks


def favoured(
    interest: Csr,
    tcc: Connectivity,
    constraint: Constraint,
    sources: Int32s,
    targets: Int32s,
    rng: np.random.Generator,
) -> Favoured:
    """Choose links on top of what is connected until none contributes; those given are there already."""
    bound = overlaps(interest.indptr, interest.indices, sources, targets).astype(np.int32)
    kept, opened = np.zeros(len(sources), np.bool_), []
    level = int(bound.max(initial=0))
    while True:
        new = added_links(interest, tcc, constraint, rng, FAVOUR * level + 1)
        join_all(tcc, new.owners, new.others)
        opened.append(new)
        if level == 0:
            break
        keep(tcc, constraint, sources, targets, bound, kept, level)
        level = min(level - 1, level * 9 // 10)
    columns = ([each.owners for each in opened], [each.others for each in opened], [x.contributions for x in opened])
    return Favoured(kept, bound, ChosenLinks(*(np.concatenate(column) for column in columns)))
