"""A smaller case that still fails: fewer acts, then fewer clients.

Acts are left out in halves, quarters and so on down to single ones, as long as what is left breaks a promise (ddmin:
Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, TSE 2002). Which promise does not matter: a
smaller story of another defect is as welcome.
"""

from collections.abc import Callable
from dataclasses import replace

from weft.sim.chaos.case import OF_CLIENTS, Act, Case

MOST = 400  # trials


def minimised(case: Case, fails: Callable[[Case], bool], most: int = MOST) -> Case:
    """The case, as small as that many trials make it."""
    search = _Search(case, fails, most)
    search.drop_acts()
    search.drop_clients()
    search.drop_acts()
    return search.case


class _Search:
    def __init__(self, case: Case, fails: Callable[[Case], bool], most: int) -> None:
        self.case = case
        self._fails = fails
        self._left = most

    def drop_acts(self) -> None:
        size = max(1, len(self.case.acts) // 2)
        while size:
            for start in range(len(self.case.acts) - 1, -1, -size):
                acts = self.case.acts
                self._try(replace(self.case, acts=acts[: max(0, start - size + 1)] + acts[start + 1 :]))
            size //= 2

    def drop_clients(self) -> None:
        """Leave out, from the last on, who does nothing any more."""
        while self.case.clients > 1 and not any(_is_of(act, self.case.clients - 1) for act in self.case.acts):
            if not self._try(replace(self.case, clients=self.case.clients - 1)):
                return

    def _try(self, case: Case) -> bool:
        if self._left <= 0 or case == self.case:
            return False
        self._left -= 1
        if not self._fails(case):
            return False
        self.case = case
        return True


def _is_of(act: Act, client: int) -> bool:
    return act.who == client and act.kind in OF_CLIENTS
