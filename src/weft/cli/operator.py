"""Options and questions that commands for a running network share."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.line import say
from weft.cli.output import print_result
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.live.address import Address

MasterAddress = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="HOST:PORT",
        help="Address of the master. Default: what WEFT_MASTER says, or 127.0.0.1:7883.",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]


def address_of(master: str | None) -> "Address":
    from weft.live.address import read_address

    return read_address(master or os.environ.get("WEFT_MASTER") or "127.0.0.1:7883")


def asked(master: str | None, request: str, patient: bool = False, **options: Any) -> Any:
    from weft.live.operator import ask

    return ask(address_of(master), request, options, patient=patient)


DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what it would change and gain.")]


def put_in_place(master: str | None, forecast: dict[str, Any], yes: bool, dry_run: bool, json: bool) -> None:
    """Tell what a proposed design would change and gain, and have it put in place by who agrees.

    Nobody is asked about a design that has the links which are there. Who wants its trees says so beforehand.
    """
    if not json:
        _print_forecast(forecast)
    is_change = forecast["links_to_open"] or forecast["links_to_close"]
    wanted = not dry_run and (yes or (not json and is_change and _confirmed()))
    if wanted:
        forecast = asked(master, "redesign", proposal=forecast["proposal"])
    if json:
        print_result(forecast, json)
    elif wanted:
        say("It is being put in place, link by link; `weft status` shows when it is done.")
    elif not is_change and not dry_run:
        say("There is nothing to put in place.")


def _confirmed() -> bool:
    try:
        return typer.confirm("Put it in place?")
    except typer.Abort as error:
        raise WeftError("Nobody says whether to put it in place: give `yes` or `dry_run`.", "yes", "dry_run") from error


def _print_forecast(forecast: dict[str, Any]) -> None:
    relays, hops, busiest = forecast["relays_a_delivery"], forecast["hops"], forecast["busiest_node"]
    say(f"{forecast['links_to_open']} links to open and {forecast['links_to_close']} to close, of {forecast['links']}.")
    say(f"relays a delivery   {relays['now']:.4f} now, {relays['then']:.4f} then")
    if any(hops.values()):
        say(f"hops                {_known(hops['now'], 2)} now, {_known(hops['then'], 2)} then")
    if any(busiest.values()):
        say(f"busiest node sends  {_known(busiest['now'], 1)} times the mean now, {_known(busiest['then'], 1)} then")


def _known(figure: float, digits: int) -> str:
    """A figure that is 0 where nothing is known."""
    return f"{figure:.{digits}f}" if figure else "-"
