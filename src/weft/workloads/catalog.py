"""Workloads by name, for the command line, experiments and Spark.

`workload` checks the options and gives a small value that can be sent anywhere; its `pairs(seed, first,
last)` makes the subscriptions of a slice of the nodes there. `generate` makes the whole instance here. Both
give the same subscriptions; the slices of a social graph also repeat some, which are to be dropped.
"""

import inspect
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol, cast

from weft.errors import WeftError, listed
from weft.model.arguments import require_types
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.seed import require_seed
from weft.workloads.bucketed import high, low, random
from weft.workloads.independent import Independent
from weft.workloads.regular import Pairs
from weft.workloads.social import Social, social
from weft.workloads.synthetic import Expo, Unif, Zipf


class Workload(Protocol):
    @property
    def nodes(self) -> int: ...
    @property
    def topics(self) -> int: ...
    def pairs(self, seed: int, first: int, last: int) -> Pairs: ...
    def interest(self, seed: int) -> Csr: ...


MAKERS: dict[str, Callable[..., Workload]] = {
    "unif": Unif,
    "zipf": Zipf,
    "expo": Expo,
    "random": random,
    "low": low,
    "high": high,
    "social": social,
    "independent": Independent,
}


def workload(name: str, **options: Any) -> Workload:
    """The named workload; an option that is None takes its default."""
    if name not in MAKERS:
        raise WeftError(f"There is no workload {name!r}: choose one of {', '.join(MAKERS)}.")
    given = {option: value for option, value in options.items() if value is not None}
    taken = inspect.signature(MAKERS[name]).parameters
    for option in given:
        if option not in taken:
            raise WeftError(f"{name} takes no option `{option}`: its options are {listed(taken)}.", option, *taken)
    if "nodes" not in given:
        raise WeftError(f"{name} needs `nodes`: give the number of nodes.", "nodes")
    require_types(MAKERS[name], given)
    return MAKERS[name](**given)


def generate(
    name: str,
    *,
    nodes: int,
    seed: int = 1,
    topics: int | None = None,
    subscriptions: float | None = None,
    **options: Any,
) -> Instance:
    """The whole instance; in its meta, how it was made."""
    made = workload(name, nodes=nodes, topics=topics, subscriptions=subscriptions, **options)
    return Instance(made.interest(require_seed(seed)), meta=meta_of(name, made, seed))


def meta_of(name: str, made: Workload, seed: int) -> dict[str, Any]:
    """What an instance's meta.json says of its making; pipelines that write slices add it themselves."""
    made_by = {"source": f"generated {name}", "seed": seed, "parameters": asdict(cast(Any, made))}
    return {**made_by, "social": True} if isinstance(made, Social) else made_by
