"""Designs: when one is wanted, what it would change and gain, and whether it is put in place.

The master looks at the quality of its plan from time to time. Where that has fallen by a set amount it has a new one
designed, and puts that in place if it gains enough; else it takes the quality for as good as it gets. An operator may
want a design at any time, and is told the forecast first.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from weft.errors import WeftError
from weft.master import effect as e
from weft.master.network import Network
from weft.master.quality import Quality, Scale
from weft.master.record import Record
from weft.master.redesign import Proposal, Redesign, Stage, job_of, proposal_of
from weft.master.snapshot import Snapshot
from weft.master.turn import Turn
from weft.model.overlay import Overlay

SMALL = 4  # nodes below which everybody is linked with everybody


@dataclass(frozen=True, slots=True)
class Wanted:
    """A design that is being made."""

    snapshot: Snapshot
    scale: Scale
    before: Quality  # what the plan was worth then
    ticket: int | None  # None: the master itself wants it


class Designing:
    def __init__(self, network: Network, turn: Turn, seed: int, is_disturbed: Callable[[], bool]) -> None:
        self.redesign = Redesign(network)
        self.designed: Quality | None = None  # what the plan was worth when it was put in place
        self._network = network
        self._turn = turn
        self._seed = seed
        self._is_disturbed = is_disturbed  # nodes are coming
        self._wanted: dict[int, Wanted] = {}
        self._proposal: Proposal | None = None
        self._jobs = self._proposals = 0
        self._rested_at = turn.now  # when the last design was wanted
        self.review_at = turn.now + network.parameters.review

    def want(self, ticket: int | None, overlay: Overlay | None = None) -> None:
        job, snapshot = job_of(self._network, self._seed, overlay)
        self._jobs += 1
        judgement = self._network.judgement
        self._wanted[self._jobs] = Wanted(snapshot, judgement.scale(), judgement.quality(), ticket)
        self._rested_at = self._turn.now
        self._turn.start(e.StartDesign(self._jobs, job))

    def take(self, event: e.Designed) -> None:
        """A design is made. An operator decides what becomes of it; the master, by what it gains."""
        wanted = self._wanted.pop(event.number)
        proposal = proposal_of(self._network, wanted.snapshot, wanted.scale, wanted.before, event.design)
        self._proposal, self._proposals = proposal, self._proposals + 1
        if wanted.ticket is not None:
            self._turn.answer(wanted.ticket, {**proposal.forecast, "applied": False, "proposal": self._proposals})
        elif proposal.gain < self._network.parameters.gain:
            self.designed = proposal.before
            self._turn.note("design_without_gain", detail=str(proposal.forecast))
        elif self.redesign.stage is Stage.NONE:
            self._put_in_place(proposal)

    def fail(self, event: e.DesignFailed) -> None:
        wanted = self._wanted.pop(event.number)
        self._turn.note("design_failed", detail=event.reason)
        if wanted.ticket is not None:
            self._turn.answer(wanted.ticket, {"error": event.reason})

    def accept(self, number: int) -> dict[str, Any]:
        """The operator wants what a forecast was of."""
        if self._proposal is None or number != self._proposals:
            raise WeftError("That design is out of date: ask for another.")
        self._put_in_place(self._proposal)
        return {**self._proposal.forecast, "applied": True}

    def go_on(self) -> bool:
        """Whether a design is in place with this step."""
        if not self.redesign.go_on(self._turn.now):
            return False
        self.designed = self._network.judgement.quality()
        self._turn.keep(Record("quality", "", asdict(self.designed)))
        self._turn.note("redesigned", detail=f"{self.designed.relays:.4f} relays a delivery")
        return True

    def review(self) -> None:
        """Whether it is time to design again."""
        parameters, now = self._network.parameters, self._turn.now
        if not parameters.automatic or now < self.review_at:
            return
        self.review_at = now + parameters.review
        busy = self._wanted or self.redesign.stage is not Stage.NONE or self._is_disturbed()
        resting = now - max(self._rested_at, self._network.changed_at) < parameters.rest
        if not busy and not resting and len(self._network.woven) >= SMALL and self.has_fallen():
            self.want(None)

    def has_fallen(self) -> bool:
        """Whether the plan has become much worse than it was."""
        parameters, quality = self._network.parameters, self._network.judgement.quality()
        before = self.designed or Quality(0.0, 0.0, -1)
        relays = quality.relays > before.relays + parameters.fall
        uneven = 0 < before.busiest * parameters.uneven < quality.busiest
        longer = quality.hops > max(before.hops, 1.0) + parameters.longer
        return relays or uneven or longer or bool(self._network.plan.over_bound())

    def _put_in_place(self, proposal: Proposal) -> None:
        self.redesign.begin(proposal, self._turn.now)
        self.redesign.go_on(self._turn.now)
        self._turn.note("redesigning", detail=f"{proposal.opened} links to open, {proposal.closed} to close")
