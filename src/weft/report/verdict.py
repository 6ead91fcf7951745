"""The verdict on a design: what it gains over a baseline and what that costs, the price beside the gain.

Rounding is honest: what is not all is never rounded to 100 %, what is not nothing never to 0, and what is not the same
never to 1.0 times.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from weft.report.words import OVERLAYS
from weft.sim.catalog import routing

Sign = Literal["gain", "price", "same"]


@dataclass(frozen=True)
class Finding:
    text: str
    beside: str  # both figures
    sign: Sign


@dataclass(frozen=True)
class Verdict:
    ours: str  # in plain words
    baseline: str
    findings: list[Finding]
    proof: str

    @property
    def sentence(self) -> str:
        """All findings in one."""
        text = ", ".join(finding.text for finding in self.findings)
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def columns(self) -> dict[str, Any]:
        """Fields as they stand in JSON."""
        return {"sentence": self.sentence, **asdict(self)}


def verdict(
    evaluations: Mapping[str, Mapping[str, Any]],  # "overlay" and "baseline", as an evaluation's JSON
    overlays: Mapping[str, Mapping[str, Any]],  # the meta of both
) -> Verdict:
    ours, theirs = evaluations["overlay"], evaluations["baseline"]
    connections = [overlays[name]["quality"]["degree"].get("maximum", 0) for name in ("overlay", "baseline")]
    findings = [
        _messages(ours["messages"], theirs["messages"]),
        *_bytes(ours.get("bytes"), theirs.get("bytes")),
        _paths(ours["average_path"], theirs["average_path"]),
        *_times(ours["times"], theirs["times"]),
        _busiest(int(ours["load"]["sent"]["maximum"]), int(theirs["load"]["sent"]["maximum"])),
        _connections(connections[0], connections[1]),
    ]
    return Verdict(_system(ours), _system(theirs), findings, _proof(ours["publications"], ours["deliveries"]))


def _system(evaluation: Mapping[str, Any]) -> str:
    """The router and the overlay of an evaluation, in plain words."""
    return f"{routing(evaluation['router']).words} on {OVERLAYS[evaluation['overlay']]}"


def _proof(publications: int, deliveries: int) -> str:
    if not deliveries:
        return f"{publications:,} publications were for nobody but who published them: nothing was to be carried."
    return f"{publications:,} publications came to all {deliveries:,} subscribers that they were for, once each."


def _messages(ours: int, theirs: int) -> Finding:
    text = f"{less_or_more(ours, theirs, 'fewer', 'more')} messages between brokers"
    return Finding(text, f"{ours:,} instead of {theirs:,}", _sign(ours, theirs))


def _paths(ours: float, theirs: float) -> Finding:
    beside = f"{ours:.2f} hops on average instead of {theirs:.2f}"
    return Finding(f"paths {_shorter(ours, theirs)}", beside, _sign(ours, theirs))


def _bytes(ours: int | None, theirs: int | None) -> list[Finding]:
    if ours is None or theirs is None:
        return []
    text = f"{less_or_more(ours, theirs, 'fewer', 'more')} bytes between brokers"
    return [Finding(text, f"{ours:,} instead of {theirs:,}", _sign(ours, theirs))]


def _times(ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> list[Finding]:
    if ours is None or theirs is None:
        return []
    mine, other = ours["delivery"]["mean"], theirs["delivery"]["mean"]
    text = f"deliveries take {less_or_more(mine, other, 'less', 'more')} time"
    return [Finding(text, f"{mine:.0f} ms on average instead of {other:.0f} ms", _sign(mine, other))]


def _busiest(ours: int, theirs: int) -> Finding:
    text = f"the busiest broker sends {as_much(ours, theirs)}"
    return Finding(text, f"{ours:,} messages instead of {theirs:,}", _sign(ours, theirs))


def _connections(ours: int, theirs: int) -> Finding:
    text = f"at most {ours:,} {'connection' if ours == 1 else 'connections'} a broker"
    return Finding(text, f"{theirs:,} in the baseline", _sign(ours, theirs))


def _sign(ours: float, theirs: float) -> Sign:
    if ours == theirs:
        return "same"
    return "gain" if ours < theirs else "price"


def less_or_more(ours: float, theirs: float, less: str, more: str) -> str:
    """Difference in per cent, or in times where there is twice as much or more; in any case with its direction."""
    if ours == theirs:
        return "as many" if less == "fewer" else "as much"
    if not theirs:
        return f"{ours:,.4g} instead of no"
    if ours >= 2 * theirs:
        return f"{_times_number(ours / theirs)} times as {'many' if less == 'fewer' else 'much'}"
    return f"{percent(abs(ours - theirs) / theirs)} {less if ours < theirs else more}"


def as_much(ours: float, theirs: float) -> str:
    """Ours in words, of theirs."""
    if ours == theirs:
        return "as much"
    if not theirs:
        return f"{ours:,.4g} where the baseline's sends nothing"
    if ours > theirs:
        return f"{_times_number(ours / theirs)} times as much"
    return f"{percent(1 - ours / theirs)} less"


def _shorter(ours: float, theirs: float) -> str:
    if ours == theirs:
        return "as long"
    if not ours or not theirs:
        return f"of {ours:.1f} hops instead of {theirs:.1f}"
    low, high = sorted((ours, theirs))
    return f"{_times_number(high / low)} times {'shorter' if ours < theirs else 'longer'}"


def percent(share: float) -> str:
    """Share in per cent, with as many digits as keep it from 0 % and 100 % if it is neither."""
    digits = 0
    while f"{100 * share:.{digits}f}" in _ends(digits) and share not in (0, 1) and digits < 6:
        digits += 1
    return f"{100 * share:.{digits}f} %"


def _ends(digits: int) -> tuple[str, str]:
    return f"{0:.{digits}f}", f"{100:.{digits}f}"


def _times_number(ratio: float) -> str:
    """Ratio above 1, with a digit after the point below 10, and more of them where it would be 1.0."""
    if ratio >= 9.95:
        return f"{ratio:,.0f}"
    digits = 1
    while f"{ratio:.{digits}f}" == f"{1:.{digits}f}" and digits < 6:
        digits += 1
    return f"{ratio:.{digits}f}"
