"""Figures in time of a designed overlay, with or without round-trip times in its design."""

from typing import Any

import numpy as np

from weft.experiments.measures.vitis import surroundings_of
from weft.experiments.runs.designed import DesignedRun
from weft.overlays.preference import Closeness, Preference
from weft.overlays.swico import gswico_sl
from weft.sim.timed import evaluate_in_time
from weft.workloads.publication import publications


def measure_designed(run: DesignedRun) -> dict[str, Any]:
    instance, latency = surroundings_of(run.surroundings, run.seed)
    near = Closeness(latency, run.closeness) if run.closeness else None
    overlay = gswico_sl(instance, np.random.default_rng(run.seed), Preference(closeness=near))
    drawn = publications(instance, run.publications, run.seed, by="node")
    given = instance.without_publishers, overlay, run.router, latency, drawn, run.seed
    return evaluate_in_time(*given, by_latency=run.closeness > 0, load_weight=0.0)  # trees as short as may be
