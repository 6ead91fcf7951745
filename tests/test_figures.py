"""Figures of a small run of every kind are those on record, so that a change which should leave them alone does.

The runs are those of the experiments, on instances of some eighty nodes. Where figures are to change, write the record
again, and look at what changed:

    python tests/test_figures.py
"""

import json
from pathlib import Path

import pytest

from weft.experiments.engine.experiment import Run
from weft.experiments.runs.budget import BudgetRun
from weft.experiments.runs.connected import ConnectedRun, Drawn
from weft.experiments.runs.designed import DesignedRun
from weft.experiments.runs.gap import OPTIMUM, GapRun
from weft.experiments.runs.input import Input
from weft.experiments.runs.popsub import Input as Brokers
from weft.experiments.runs.popsub import PopSubRun
from weft.experiments.runs.popularity import PopularityRun
from weft.experiments.runs.routing import RoutingRun
from weft.experiments.runs.vitis import FailureRun, Surroundings, VitisRun
from weft.experiments.runs.woven import WovenRun
from weft.protocol.popsub.parameters import Way
from weft.protocol.vitis.parameters import Parameters

RECORD = Path(__file__).with_name("figures.json")
MEASURED = {"design_seconds", "printed_seconds", "simulated_seconds"}  # by the clock
MEASURED |= {"of_gm_time", "of_dc_time", "of_our_gm_time", "of_our_dc_time"}

UNIF, ZIPF = Input("unif", 81, 60), Input("zipf", 81, 60)
SOCIAL = Input("social", 120, like="twitter")
DRAWN = Drawn("unif", 80, 20, 6)
NEAR = Surroundings("high", 60)
BROKERS = Brokers(brokers=12, subscriptions=300, exponent=0.5)
BY_OVERLAP = (("tie", "overlap"), ("fill", "overlap"))
RUNS: dict[str, Run] = {
    "Po on Chord": RoutingRun(UNIF, "chord", "po", 200, 1),
    "Pal on SwicoS": RoutingRun(UNIF, "swico-s", "pal", 200, 1),
    "Pie on SwicoL": RoutingRun(ZIPF, "swico-l", "pie", 200, 1),
    "Pie on SwicoSL": RoutingRun(SOCIAL, "swico-sl", "pie", 200, 1),
    "Pie on SwicoSL by overlap": RoutingRun(SOCIAL, "swico-sl", "pie", 200, 1, BY_OVERLAP),
    "Scribe on random": RoutingRun(UNIF, "random", "scribe", 200, 1),
    "iScribe on GrSwico": RoutingRun(ZIPF, "grswico", "iscribe", 200, 1),
    "Weave on SwicoEven": RoutingRun(SOCIAL, "swico-even", "weave", 200, 1),
    "Weave on random": WovenRun(UNIF, "random", 4, 200, 1, load_weight=1.0),
    "GM": ConnectedRun(DRAWN, "gm", 1),
    "DC": ConnectedRun(DRAWN, "dc", 1),
    "DCBC": ConnectedRun(DRAWN, "dcbc", 1),
    "optimum": GapRun(OPTIMUM, 8, 1),
    "degree budget": BudgetRun(UNIF, 4, 1),
    "popularity": PopularityRun(SOCIAL, "subscribers", 5, 1),
    "Vitis": VitisRun(NEAR, 40, Parameters(table=8, exponent=0.5), 1),
    "Vitis after failures": FailureRun(NEAR, 0.2, Parameters(exponent=0.25), 1),
    "Pie by latency": DesignedRun(NEAR, "pie", 0.5, 20, 1),
    **{f"PopSub, {way.value}": PopSubRun(BROKERS, way, 0.001, 1) for way in Way},
}


def figures(name: str) -> dict[str, object]:
    """Figures that the run has and the clock does not decide."""
    made = RUNS[name].measure()
    return {figure: value for figure, value in made.items() if value is not None and figure not in MEASURED}


@pytest.mark.parametrize("name", RUNS)
def test_figures_are_those_on_record(name: str) -> None:
    """Floating-point numbers up to the last digits, in which processors differ on powers and logarithms."""
    assert figures(name) == pytest.approx(json.loads(RECORD.read_text())[name], rel=1e-9, abs=0)


if __name__ == "__main__":
    RECORD.write_text(json.dumps({name: figures(name) for name in RUNS}, indent=1) + "\n")
