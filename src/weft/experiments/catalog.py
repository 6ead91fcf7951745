"""Experiments by name."""

from collections.abc import Sequence
from difflib import get_close_matches

from weft.errors import WeftError
from weft.experiments.engine.experiment import Experiment
from weft.experiments.papers import beaconvey, dc, nsmf, popsub, vitis, weft

PAPERS = (beaconvey, nsmf, dc, popsub, vitis, weft)
EXPERIMENTS = {experiment.name: experiment for paper in PAPERS for experiment in paper.EXPERIMENTS}


def experiments_of(names: Sequence[str]) -> list[Experiment]:
    """The named experiments, each once; "all" names all."""
    wanted = dict.fromkeys(name for given in names for name in (EXPERIMENTS if given == "all" else [given]))
    for name in wanted:
        if name not in EXPERIMENTS:
            near = get_close_matches(name, EXPERIMENTS, cutoff=0.0)
            raise WeftError(
                f"There is no experiment {name!r} among {len(EXPERIMENTS)}: the nearest are {', '.join(near)}."
            )
    return [EXPERIMENTS[name] for name in wanted]
