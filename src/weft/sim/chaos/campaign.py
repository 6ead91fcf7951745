"""Many seeds on all cores, until they are done or the time is up."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from weft.sim.chaos.case import Case
from weft.sim.chaos.coincidence import drawn
from weft.sim.chaos.minimise import minimised
from weft.sim.chaos.stage import play
from weft.sim.chaos.verdict import Verdict

SLICE = 5  # seeds that a process is given at a time
AHEAD = 2  # slices a process that wait


@dataclass
class Campaign:
    """What has been tried so far."""

    seeds: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    failed: list[Verdict] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def add(self, verdict: Verdict) -> None:
        self.seeds += 1
        self.tried.update(verdict.tried)
        if verdict.found:
            self.failed.append(verdict)

    def figures(self) -> dict[str, Any]:
        ordinary = ("publications", "acknowledged", "deliveries")
        return {
            "seeds": self.seeds,
            "seconds": round(self.seconds, 1),
            **{name: self.tried[name] for name in ordinary},
            "faults": {kind: count for kind, count in sorted(self.tried.items()) if kind not in ordinary},
            "broken": len(self.failed),
        }


def run(
    first: int, seeds: int, seconds: float | None, jobs: int, show: Callable[[Campaign], None] = lambda _: None
) -> Campaign:
    campaign = Campaign()
    for verdicts in _verdicts(first, seeds, seconds, jobs, campaign):
        for verdict in verdicts:
            campaign.add(verdict)
        show(campaign)
    campaign.failed.sort(key=lambda one: one.seed)
    return campaign


def explained(seed: int) -> tuple[Case, Verdict]:
    """A seed that fails, as small as it can be made, and its story."""
    case = minimised(drawn(seed), lambda case: bool(play(case).found))
    return case, play(case)


def _verdicts(first: int, seeds: int, seconds: float | None, jobs: int, campaign: Campaign) -> Iterator[list[Verdict]]:
    slices = iter(range(first, first + seeds, SLICE))
    with ProcessPoolExecutor(jobs) as pool:
        waiting: set[Future[list[Verdict]]] = set()
        while True:
            is_late = seconds is not None and campaign.seconds >= seconds
            more = [] if is_late else islice(slices, jobs * AHEAD - len(waiting))
            waiting |= {pool.submit(_play_all, at, min(at + SLICE, first + seeds)) for at in more}
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (one.result() for one in done)


def _play_all(first: int, end: int) -> list[Verdict]:
    """Stories are told of what fails alone, and then in full (`explained`)."""
    return [replace(play(drawn(seed)), story=()) for seed in range(first, end)]
