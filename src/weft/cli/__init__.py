"""The command line: one file a command. A command parses its options, calls the library, and prints the result."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import weft
from weft import ending
from weft.cli import (
    apply,
    bench,
    ca,
    chaos,
    compare,
    demo,
    design,
    evaluate,
    experiment,
    explain,
    export,
    generate,
    import_,
    ingest,
    inspect,
    join,
    leave,
    master,
    node,
    place,
    plan,
    publish,
    redesign,
    report,
    run,
    sample,
    snapshot,
    status,
    trace,
    traffic,
    tree,
    up,
    user,
    warm,
    weave,
)
from weft.cli.output import sentence_of
from weft.errors import WeftError
from weft.memory import SHORTAGE, is_shortage, require_memory

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
    traffic,
    publish,
    design,
    join,
    inspect,
    weave,
    tree,
    evaluate,
    compare,
    import_,
    place,
    export,
    experiment,
    report,
    plan,
    run,
    demo,
    node,
    master,
    up,
    status,
    explain,
    trace,
    redesign,
    snapshot,
    apply,
    leave,
    bench,
    chaos,
    warm,
):
    name = module.__name__.rpartition(".")[2]
    app.command(name.rstrip("_"), epilog=f"Example:  {module.EXAMPLE}")(getattr(module, name))


app.add_typer(user.app, name="user")
app.add_typer(ca.app, name="ca")


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


def _command_at_hand(words: Sequence[str]) -> Any:
    """The command that these words of the command line call; None where they call none."""
    found: Any = typer.main.get_command(app)
    for word in words:
        if not isinstance(found, TyperGroup):
            break
        found = found.commands.get(word, found)
    return None if isinstance(found, TyperGroup) else found


def main() -> None:
    ending.watch()
    try:
        require_memory()
        app()
    except WeftError as error:
        typer.echo(f"weft: {sentence_of(error, _command_at_hand(sys.argv[1:]))}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        if is_shortage(error):
            typer.echo(f"weft: {SHORTAGE}", err=True)
            sys.exit(1)
        typer.echo(f"weft: {error.filename or 'input or output'}: {error.strerror or error}", err=True)
        sys.exit(1)
    except (MemoryError, ImportError, RuntimeError, SystemError) as error:
        if not is_shortage(error):
            raise
        typer.echo(f"weft: {SHORTAGE}", err=True)
        sys.exit(1)
    finally:
        ending.stand_still_if_stopping()
