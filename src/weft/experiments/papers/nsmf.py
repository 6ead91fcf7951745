"""NSMF, section 5: Figs. 2 and 3. Its routing is BeaConvey's Po; RandomSW is a random ring with random fingers."""

from weft.experiments.engine.experiment import Experiment, Panel
from weft.experiments.runs.input import Inputs, node_inputs, unif_inputs
from weft.experiments.runs.routing import (
    METRICS,
    PATHS,
    System,
    read_plan,
    readings_of,
    variants_of,
)

SYSTEMS = {
    "GrSwico": System("grswico", "po"),
    "Chord": System("chord", "po"),
    "RandomSW": System("random", "po"),
}
NOTE = (
    "A node has floor(log2 |V|) fingers, which TcoSuppR fits. With links both ways a node sends also to those that "
    "have a finger to it."
)
VARIANTS = variants_of(SYSTEMS, long=False)


def _figure(number: int, title: str, axis: str, inputs: Inputs) -> Experiment:
    return Experiment(
        name=f"nsmf-fig{number}",
        title=f"NSMF, Fig. {number}: {title}",
        paper="nsmf",
        axis=axis,
        systems=tuple(SYSTEMS),
        metrics=METRICS,
        plan=read_plan(inputs, VARIANTS),
        baseline="GrSwico",
        panels=(
            Panel("routing overhead / that of GrSwico", "overhead ratio", tuple(SYSTEMS)),
            Panel("average path, hops", "average path", tuple(SYSTEMS)),
            Panel("TCO support ratio", "TcoSuppR", tuple(SYSTEMS)),
        ),
        extra_metrics=("path ratio", *PATHS),
        readings=readings_of(long=False),
        note=NOTE,
    )


EXPERIMENTS = (
    _figure(2, "overlays as the nodes grow, Unif, 2,000 topics", "nodes", node_inputs),
    _figure(3, "overlays as the topics grow, Unif, 1,023 nodes", "topics", unif_inputs),
)
