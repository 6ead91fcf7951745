"""Publish/subscribe whose broker network is woven from who listens to what."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.model.instance import Instance
    from weft.model.overlay import Overlay
    from weft.model.publication import Publications
    from weft.overlays.catalog import design
    from weft.sim.bulk import evaluate
    from weft.workloads.catalog import generate
    from weft.workloads.publication import publications
    from weft.workloads.sample import sample

__version__ = "0.1.0"
__all__ = [
    "Instance",
    "Overlay",
    "Publications",
    "WeftError",
    "design",
    "evaluate",
    "generate",
    "publications",
    "sample",
]

# Names are loaded when first used: `import weft` costs milliseconds and loads neither numpy, numba nor Spark.
_HOMES = {
    "Instance": "weft.model.instance",
    "Overlay": "weft.model.overlay",
    "Publications": "weft.model.publication",
    "design": "weft.overlays.catalog",
    "evaluate": "weft.sim.bulk",
    "generate": "weft.workloads.catalog",
    "publications": "weft.workloads.publication",
    "sample": "weft.workloads.sample",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
