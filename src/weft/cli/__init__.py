"""The command line: one file a command. A command parses its options, calls the library, and prints the result."""

import signal
import sys
from typing import Annotated

import typer

import weft
from weft.cli import (
    demo,
    design,
    evaluate,
    experiment,
    generate,
    ingest,
    inspect,
    join,
    node,
    publish,
    report,
    run,
    sample,
    warm,
    weave,
)
from weft.cli.output import sentence_of
from weft.errors import WeftError

app = typer.Typer(
    help="Publish/subscribe whose broker network is woven from who listens to what.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (
    generate,
    ingest,
    sample,
    publish,
    design,
    join,
    inspect,
    weave,
    evaluate,
    experiment,
    report,
    run,
    demo,
    node,
    warm,
):
    name = module.__name__.rpartition(".")[2]
    app.command(name, epilog=f"Example:  {module.EXAMPLE}")(getattr(module, name))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weft {weft.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        app()
    except WeftError as error:
        typer.echo(f"weft: {sentence_of(error)}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        typer.echo(f"weft: {error.filename or 'input or output'}: {error.strerror or error}", err=True)
        sys.exit(1)
    except MemoryError:
        typer.echo("weft: There is not enough memory for this: ask for less, or take a larger machine.", err=True)
        sys.exit(1)


def _stop(number: int, _: object) -> None:
    """Leave through all the clean-up that is under way."""
    sys.exit(128 + number)
