"""Experiments by name."""

from collections.abc import Sequence

from weft.errors import WeftError
from weft.experiments import beaconvey, dc, locality, nsmf, popsub, vitis, weave
from weft.experiments.budget import BUDGET
from weft.experiments.designed import LOCALITY
from weft.experiments.experiment import Experiment
from weft.experiments.gap import GAP
from weft.experiments.popularity import FIGURE
from weft.experiments.swico import OPTIONS

_ALL = (
    FIGURE,
    *beaconvey.EXPERIMENTS,
    *nsmf.EXPERIMENTS,
    *dc.EXPERIMENTS,
    *popsub.EXPERIMENTS,
    *vitis.EXPERIMENTS,
    *locality.EXPERIMENTS,
    *weave.EXPERIMENTS,
    OPTIONS,
    BUDGET,
    GAP,
    LOCALITY,
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def experiments_of(names: Sequence[str]) -> list[Experiment]:
    """Those named, each once; "all" names all."""
    wanted = dict.fromkeys(name for given in names for name in (EXPERIMENTS if given == "all" else [given]))
    for name in wanted:
        if name not in EXPERIMENTS:
            raise WeftError(f"There is no experiment {name!r}: `weft experiment --list` names them all.")
    return [EXPERIMENTS[name] for name in wanted]
