"""What the options of SWICO do: how ties are broken, and what fills the fingers that contribute nothing."""

from collections.abc import Mapping
from itertools import product

from weft.experiments.experiment import Experiment, Panel, Point
from weft.experiments.point import SITES, social_inputs
from weft.experiments.routing import METRICS, Input, Scale, System, routing_plan

CHOICES = ("random", "overlap")
BASELINE = "Scribe on random"


def _name(router: str, tie: str, fill: str) -> str:
    return f"{router.title()}, tie {tie}, fill {fill}"


OURS = {
    _name(router, tie, fill): System("swico-sl", router, (("tie", tie), ("fill", fill)))
    for router, tie, fill in product(("pie", "weave"), CHOICES, CHOICES)
}
SYSTEMS = {**OURS, BASELINE: System("random", "scribe")}


def _inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    unif = Point("Unif", "Unif, 1,023 nodes, 2,000 topics"), Input("unif", 1023, 2000)
    return [*social_inputs(tuple(SITES), scale, folders), unif]


OPTIONS = Experiment(
    name="swico-options",
    title="SWICO's options: ties broken and fingers filled by chance or by overlap",
    paper="weft",
    axis="instance",
    systems=tuple(SYSTEMS),
    metrics=METRICS,
    plan=routing_plan(_inputs, SYSTEMS),
    panels=(
        Panel("routing overhead / that of Scribe", "overhead ratio", tuple(OURS)),
        Panel("average path / that of Scribe", "path ratio", tuple(OURS)),
        Panel("TCO support ratio", "TcoSuppR", tuple(OURS)),
    ),
    baseline=BASELINE,
    datasets=tuple(SITES.values()),
)
