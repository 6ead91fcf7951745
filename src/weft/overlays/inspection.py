"""What an instance or an overlay is like: all figures, for `weft inspect` and for Python."""

from typing import Any

from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.profile import profile
from weft.overlays.quality import SHOWN, design_figures, distribution, quality
from weft.overlays.verify import topic_violations


def inspect(given: Instance | Overlay, instance: Instance | None = None) -> dict[str, Any]:
    """Figures of an instance; of an overlay, for its instance, the quality of its links and whether its ring holds."""
    if isinstance(given, Instance):
        return _of_instance(given)
    if instance is None:
        raise WeftError("It is an overlay: tell with `instance` which instance it is for.", "instance")
    return _of_overlay(given, instance)


def _of_instance(instance: Instance) -> dict[str, Any]:
    return {
        **profile(instance),
        "nodes_by_number_of_topics": distribution(instance.interest.counts),
        "topics_by_number_of_subscribers": distribution(instance.subscribers.counts),
    }


def _of_overlay(overlay: Overlay, instance: Instance) -> dict[str, Any]:
    about = {name: overlay.meta.get(name) for name in ("algorithm", "parameters", "seed")}
    figures = {**about, "nodes": overlay.nodes, "links": overlay.links, **quality(instance, overlay)}
    if overlay.ring_ids is None:
        # Without a ring it was made to be topic-connected; scipy proves whether it is.
        figures.pop("ring_violations")
        figures |= {**design_figures(overlay), "topic_violations": topic_violations(instance, overlay)[:SHOWN]}
    return figures
