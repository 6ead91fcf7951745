"""Overlays by name, for the command line, experiments and Spark.

A builder takes an instance, a seed and its own options as keywords, and gives the overlay. Its signature is all there
is to declare: the options are its other keywords, with their types and defaults.
"""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from weft.errors import WeftError, listed
from weft.model.arguments import require_types
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay
from weft.model.seed import require_seed
from weft.overlays.chord import chord
from weft.overlays.divide import dc, dcbc
from weft.overlays.drawn import star, tree
from weft.overlays.greedy_merge import gm
from weft.overlays.grswico import grswico
from weft.overlays.random import random
from weft.overlays.ring_per_topic import ring_per_topic
from weft.overlays.swico import swico_even, swico_l, swico_s, swico_sl

Builder = Callable[..., Overlay]

BUILDERS: Mapping[str, Builder] = {
    "chord": chord,
    "random": random,
    "grswico": grswico,
    "swico-s": swico_s,
    "swico-l": swico_l,
    "swico-sl": swico_sl,
    "swico-even": swico_even,
    "gm": gm,
    "dc": dc,
    "dcbc": dcbc,
    "ring-per-topic": ring_per_topic,
    "star": star,
    "tree": tree,
}
WITHOUT_RING = ("gm", "dc", "dcbc", "ring-per-topic", "star", "tree")


@dataclass(frozen=True)
class Option:
    name: str
    default: Any
    choices: tuple[str, ...]  # none where any value of the default's type will do


def design(instance: Instance, name: str, *, seed: int = 1, **options: Any) -> Overlay:
    """The named overlay, with its making in its meta. Options, by the overlays that take them; None is the default:

    long            swico-s: its long fingers, "chord" or "random"
    tie             grswico, swico-l, swico-sl, swico-even: of links that contribute the same, "random" or "overlap"
    fill            the same: where no finger contributes, "random" or "overlap"
    latency         swico-l, swico-sl, swico-even, gm, dc, dcbc: round-trip times to go by, as of `placed_latency`
    closeness       the same: how much round-trip times count, from 0
    phases          chord, random, grswico, swico-s, swico-l, swico-sl: "whole" leaves out the fingers of the last
                    phase where the number of nodes cuts it short, so that a node has floor(log2 |V|); "cut" has them
    in_degree       grswico, swico-l, swico-sl: how many fingers may point at a node
    arc             swico-sl, swico-even: divide the design into arcs of so many nodes; 0: do not
    partitions      dc, dcbc: how many
    partition       dc: how nodes are divided, "random", "kmeans" or "region", which goes by latency
    choose          dc, dcbc: what the number of partitions minimises, "neighbours" (Algorithm 5), "time" or
                    "parallel", the time of partitions side by side; dc by K-means also "elbow"
    bulk            dcbc: the share of nodes that are bulk
    eta             dcbc: how many subscriptions a node of the bulk has at least, in place of a share
    average_degree  gm: where it stops
    maximum_degree  gm: that it keeps to
    diameter        gm, dc, dcbc: how many hops subscribers of a topic may be apart, from 2
    children        tree: of a node
    """
    builder = _builder_of(name)
    chosen = chosen_options(name, options)
    require_types(builder, {option: value for option, value in options.items() if value is not None})
    require_seed(seed)
    if instance.nodes == 0:
        raise WeftError("The instance has no nodes: an overlay needs at least one.")
    start = time.perf_counter()
    overlay = builder(instance, seed=seed, **chosen)
    seconds = time.perf_counter() - start
    return overlay.with_meta(
        algorithm=name, parameters=_recorded(chosen), seed=seed, seconds=seconds, instance=instance.fingerprint
    )


def _builder_of(name: str) -> Builder:
    if name not in BUILDERS:
        raise WeftError(f"There is no overlay {name!r}: choose one of {', '.join(BUILDERS)}.")
    return BUILDERS[name]


def options_of(name: str) -> dict[str, Option]:
    parameters = inspect.signature(_builder_of(name)).parameters.values()
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "seed"]
    return {p.name: Option(p.name, p.default, _choices_of(p.annotation)) for p in keywords}


def _choices_of(annotation: Any) -> tuple[str, ...]:
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def chosen_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of the overlay, those that are not given (or None) at their defaults."""
    options = options_of(name)
    wanted = {option: value for option, value in given.items() if value is not None}
    for option, value in wanted.items():
        if option not in options:
            known = f"its options are {listed(options)}" if options else "it has no options"
            raise WeftError(f"{name} takes no option `{option}`: {known}.", option, *options)
        choices = options[option].choices
        if choices and value not in choices:
            raise WeftError(f"`{option}` {value} is unknown to {name}: choose one of {', '.join(choices)}.", option)
    return {option.name: wanted.get(option.name, option.default) for option in options.values()}


def _recorded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they stand in the meta: latencies by where they come from."""
    latency: Latency | None = options.get("latency")
    return {**options, **({} if latency is None else {"latency": latency.source})}
