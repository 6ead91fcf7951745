"""When a broker evaluates: at multiples of the interval on the clock that its driver has, whatever that shows.

The first event tells the time. An interval that passed unseen is not made up for: what was counted is then of several
intervals, and rates are over all of them.
"""

from math import floor, inf


class EvaluationClock:
    def __init__(self, interval: float) -> None:
        self.interval = interval  # milliseconds; infinite: never
        self.deadline = inf  # until the first event
        self._since = -inf

    def start(self, now: float) -> None:
        if self._since == -inf and self.interval < inf:
            self._since = self.interval * floor(now / self.interval)
            self.deadline = self._since + self.interval

    def elapsed(self, now: float) -> float:
        """Milliseconds since the last evaluation, of which the one that is due now is the next; 0 if none is due."""
        if now < self.deadline:
            return 0.0
        reached = max(self.deadline, self.interval * floor(now / self.interval))  # whatever rounding says
        elapsed, self._since = reached - self._since, reached
        self.deadline = reached + self.interval
        return elapsed
