"""Results of a run: the promises that were broken, what was tried, and what happened in which order."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verdict:
    seed: int
    found: tuple[str, ...]  # a sentence each
    tried: Counter[str] = field(default_factory=Counter)  # faults by kind, publications, deliveries, ...
    story: tuple[str, ...] = ()
