"""Publish/subscribe whose broker network is woven from who listens to what."""

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.model.instance import Instance
    from weft.model.latency import place, placed_latency, read_latency
    from weft.model.overlay import Overlay, read
    from weft.model.publication import Publications
    from weft.model.tree import Trees
    from weft.overlays.catalog import design
    from weft.overlays.inspection import inspect
    from weft.overlays.join import join
    from weft.overlays.quality import quality
    from weft.overlays.repair import Repair, repair
    from weft.overlays.verify import topic_violations
    from weft.raw.churn import read_churn
    from weft.raw.read import ingest
    from weft.sim.bulk import evaluate
    from weft.sim.churn import Churned, ChurnSetting, churn
    from weft.sim.evaluation import Evaluation
    from weft.sim.hop import Journey, journey
    from weft.sim.popsub_case import PopSubResult, simulate_popsub
    from weft.sim.trial import Trials, compare
    from weft.sim.vitis_run import VitisRun, simulate_vitis
    from weft.trees.weave import weave
    from weft.workloads.catalog import generate, workload
    from weft.workloads.churn import churn_by_rate
    from weft.workloads.publication import publications, schedule
    from weft.workloads.sample import Sampling, sample

__version__ = "0.1.0"
__all__ = [
    "ChurnSetting",
    "Churned",
    "Evaluation",
    "Instance",
    "Journey",
    "Overlay",
    "PopSubResult",
    "Publications",
    "Repair",
    "Sampling",
    "Trees",
    "Trials",
    "VitisRun",
    "WeftError",
    "churn",
    "churn_by_rate",
    "compare",
    "design",
    "evaluate",
    "generate",
    "ingest",
    "inspect",
    "join",
    "journey",
    "place",
    "placed_latency",
    "publications",
    "quality",
    "read",
    "read_churn",
    "read_latency",
    "repair",
    "sample",
    "schedule",
    "simulate_popsub",
    "simulate_vitis",
    "topic_violations",
    "weave",
    "workload",
]

# Names are loaded when first used: `import weft` costs milliseconds and loads neither numpy, numba nor Spark.
_HOMES = {
    "ChurnSetting": "weft.sim.churn",
    "Churned": "weft.sim.churn",
    "churn": "weft.sim.churn",
    "churn_by_rate": "weft.workloads.churn",
    "read_churn": "weft.raw.churn",
    "Evaluation": "weft.sim.evaluation",
    "Instance": "weft.model.instance",
    "Journey": "weft.sim.hop",
    "ingest": "weft.raw.read",
    "inspect": "weft.overlays.inspection",
    "join": "weft.overlays.join",
    "journey": "weft.sim.hop",
    "read": "weft.model.overlay",
    "Overlay": "weft.model.overlay",
    "PopSubResult": "weft.sim.popsub_case",
    "Publications": "weft.model.publication",
    "Repair": "weft.overlays.repair",
    "Sampling": "weft.workloads.sample",
    "Trees": "weft.model.tree",
    "Trials": "weft.sim.trial",
    "compare": "weft.sim.trial",
    "design": "weft.overlays.catalog",
    "evaluate": "weft.sim.bulk",
    "generate": "weft.workloads.catalog",
    "place": "weft.model.latency",
    "placed_latency": "weft.model.latency",
    "publications": "weft.workloads.publication",
    "quality": "weft.overlays.quality",
    "read_latency": "weft.model.latency",
    "repair": "weft.overlays.repair",
    "sample": "weft.workloads.sample",
    "simulate_vitis": "weft.sim.vitis_run",
    "VitisRun": "weft.sim.vitis_run",
    "schedule": "weft.workloads.publication",
    "simulate_popsub": "weft.sim.popsub_case",
    "topic_violations": "weft.overlays.verify",
    "weave": "weft.trees.weave",
    "workload": "weft.workloads.catalog",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    if isinstance(found, FunctionType):
        from weft.model.arguments import checked

        globals()[name] = found = checked(found)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
