"""An exchange: who advertises, subscribes to and publishes what, at which broker and when.

Brokers, advertisements, subscriptions and publications are numbered from 0; attributes of publications are columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.model.content import Filter
from weft.model.matching import Column


@dataclass(frozen=True, eq=False)
class Exchange:
    issuers: Int64s  # the broker of every advertisement
    advertised: Sequence[Filter]
    subscribers: Int32s  # the broker of every subscription
    wanted: Sequence[Filter]
    times: Floats  # of publications, milliseconds, ascending
    advertisements: Int64s  # of publications
    columns: Mapping[str, Column]  # of publications, by attribute
    priority: Bools | None = None  # of advertisements; None: none has a high one
    urgent: Bools | None = None  # of publications: besides those of advertisements of high priority

    @property
    def publications(self) -> int:
        return len(self.times)
