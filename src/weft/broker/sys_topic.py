"""$SYS: figures as retained messages, each published when it has changed."""

from weft.access.guard import SYS
from weft.broker.deadline import Deadlines
from weft.broker.distribution import Distribution
from weft.broker.figure import Figures, Loads, topics
from weft.broker.publication import Publication
from weft.broker.retained import RetainedMessages


class SysTopics:
    def __init__(
        self,
        deadlines: Deadlines,
        distribution: Distribution,
        retained: RetainedMessages,
        figures: Figures,
        interval: float,  # seconds
        version: str,  # of the software
    ) -> None:
        self._timer = deadlines.timer(lambda _, now: self.publish(now))
        self._distribution = distribution
        self._retained = retained
        self._figures = figures
        self._interval = interval
        self._version = version
        self._loads = Loads()

    def start(self, now: float) -> None:
        self._timer.at(now)

    def publish(self, now: float) -> None:
        shown = topics(self._figures, now, self._version)
        shown |= {name: f"{value:.2f}" for name, value in self._loads.update(self._figures, self._interval)}
        for name, value in shown.items():
            topic = f"{SYS}broker/{name}"
            known = self._retained.by_name.get(topic)
            if known is None or known.payload != value.encode():
                self._distribution.arrive(Publication(topic.encode(), value.encode(), retain=True), now)
        self._timer.at(now + self._interval)
