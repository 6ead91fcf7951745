"""weft chaos"""

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import print_result
from weft.errors import Exit, WeftError

if TYPE_CHECKING:
    from weft.sim.chaos.campaign import Campaign

EXAMPLE = "weft chaos --seeds 1000 --minutes 20"

EVERY = 10.0  # seconds between lines where there is no terminal


def chaos(
    seeds: Annotated[int, typer.Option(metavar="N", help="Networks to try.")] = 100,
    seed: Annotated[int, typer.Option(metavar="K", help="The first; seeds K to K + N - 1 are tried.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", help="Stop after this time. Default: when all are done.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="J", help="Processes. Default: one a core.", show_default=False)
    ] = None,
    explain: Annotated[
        int, typer.Option(metavar="N", help="Of the seeds that fail, make so many as small as possible, and tell them.")
    ] = 1,
    json: o.Json = False,
) -> None:
    """Try to break the promises of the network, in simulations of all of it: docs/guarantees.md has them.

    Each seed is a network with clients, disks and faults of its own. The exit code is 1 where a promise was broken."""
    from weft.sim.chaos.campaign import run

    if seeds < 1 or seed < 0:
        raise WeftError("`seeds` is from 1 and `seed` from 0: give others.", "seeds", "seed")
    line = _Line()
    campaign = run(seed, seeds, None if minutes is None else minutes * 60, jobs or os.cpu_count() or 1, line.show)
    line.end()
    stories = [_told(verdict.seed, json) for verdict in campaign.failed[: max(0, explain)]]
    broken = [{"seed": one.seed, "found": list(one.found)} for one in campaign.failed]
    if json:
        print_result({**campaign.figures(), "failed": broken, "stories": stories}, True)
    else:
        print_result(campaign.figures(), False)
        for one in broken:
            say(f"seed {one['seed']}: {one['found'][0]}")  # type: ignore[index]
    raise typer.Exit(Exit.NOT_HELD if broken else Exit.DONE)


def _told(seed: int, as_json: bool) -> dict[str, Any]:
    """The smallest case found, its findings and its story."""
    from weft.sim.chaos.campaign import explained

    case, verdict = explained(seed)
    acts = [str(act) for act in case.acts]
    told = {
        "command": f"weft chaos --seed {seed} --seeds 1",
        "nodes": case.nodes,
        "clients": case.clients,
        "acts": acts,
        "found": list(verdict.found),
        "story": list(verdict.story),
    }
    if not as_json:
        say(f"{told['command']}, with {case.nodes} nodes, {case.clients} clients and these acts alone:")
        say(*acts, "", *verdict.story, "", *verdict.found, "")
    return told


class _Line:
    """What has been tried: one line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0.0 if self._terminal else EVERY)

    def show(self, campaign: "Campaign") -> None:
        if time.monotonic() < self._next:
            return
        figures = campaign.figures()
        told = (
            f"{figures['seconds']:.0f} s: {figures['seeds']:,} seeds, {sum(figures['faults'].values()):,} faults, "
            f"{figures['publications']:,} publications, {figures['broken']} seeds with a broken promise"
        )
        if campaign.failed:
            told += f" (the last is {campaign.failed[-1].seed})"
        self._next = time.monotonic() + (0.2 if self._terminal else EVERY)
        typer.echo(f"\r{told}" if self._terminal else told, err=True, nl=not self._terminal)

    def end(self) -> None:
        if self._terminal:
            say("", err=True)
