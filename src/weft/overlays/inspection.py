"""What an instance or an overlay is like: all figures, for `weft inspect` and for Python."""

from typing import Any

from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.overlay import Overlay, named
from weft.model.profile import profile
from weft.model.ring import Phases
from weft.overlays.quality import SHOWN, design_figures, distribution, quality
from weft.overlays.verify import topic_violations


def inspect(
    given: Instance | Overlay, instance: Instance | None = None, *, phases: Phases | None = None
) -> dict[str, Any]:
    """Figures of an instance; of an overlay, for its instance, the quality of its links and whether its ring holds.

    The ring holds with a finger in every phase, or with `phases` whole in every one that the number of nodes does not
    cut short; None: as the overlay was designed, or where that is not known, as its fingers are.
    """
    if isinstance(given, Instance):
        return _of_instance(given)
    if instance is None:
        raise WeftError("It is an overlay: tell with `instance` which instance it is for.", "instance")
    return _of_overlay(given, instance, phases)


def _of_instance(instance: Instance) -> dict[str, Any]:
    return {
        **profile(instance),
        "nodes_by_number_of_topics": distribution(instance.interest.counts),
        "topics_by_number_of_subscribers": distribution(instance.subscribers.counts),
    }


def _of_overlay(overlay: Overlay, instance: Instance, phases: Phases | None) -> dict[str, Any]:
    about = {name: overlay.meta.get(name) for name in ("algorithm", "parameters", "seed")}
    figures = {**about, "nodes": overlay.nodes, "links": overlay.links, **quality(instance, overlay, phases)}
    if overlay.ring_ids is None:
        # Without a ring it was made to be topic-connected; scipy proves whether it is.
        if phases is not None:
            raise WeftError(f"`phases` are those of a ring, and {named(overlay)} has none.", "phases")
        figures.pop("ring_violations")
        figures |= {**design_figures(overlay), "topic_violations": topic_violations(instance, overlay)[:SHOWN]}
    return figures
