"""The command line: one file a command. A command parses its options, calls the library, and prints the result."""

import signal
import sys
import traceback
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
    churn,
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
    popsub,
    publish,
    redesign,
    repair,
    report,
    run,
    salvage,
    sample,
    snapshot,
    status,
    trace,
    traffic,
    tree,
    up,
    user,
    vitis,
    warm,
    weave,
)
from weft.cli.line import say
from weft.cli.local import with_local_paths
from weft.cli.output import sentence_of
from weft.errors import DeliveryError, Exit, WeftError
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
    repair,
    join,
    inspect,
    weave,
    tree,
    evaluate,
    churn,
    compare,
    popsub,
    vitis,
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
    salvage,
    bench,
    chaos,
    warm,
):
    name = module.__name__.rpartition(".")[2]
    app.command(name.rstrip("_"), epilog=f"Example:  {module.EXAMPLE}")(with_local_paths(getattr(module, name)))


app.add_typer(user.app, name="user")
app.add_typer(ca.app, name="ca")


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"weft {weft.__version__}")
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
        code = _code()
    finally:
        ending.stand_still_if_stopping()
    sys.exit(code)


def _code() -> int:
    """How the command ended, which has said so. What nobody has thought of is a defect, and told with its traceback."""
    try:
        require_memory()
        app()
    except SystemExit as end:
        return _code_of(end)
    except WeftError as error:
        return _said(sentence_of(error, _command_at_hand(sys.argv[1:])), error.exit_code)
    except DeliveryError as error:
        return _said(f"The proof does not hold, by a defect of Weft: {error}. Report it.", Exit.NOT_HELD)
    except Exception as error:
        if is_shortage(error):
            return _said(SHORTAGE, Exit.SURROUNDINGS)
        if isinstance(error, OSError):
            where = error.filename or "input or output"
            return _said(f"{where}: {error.strerror or error}", Exit.SURROUNDINGS)
        traceback.print_exc()
        return _said("This is a defect of Weft: report it, with what stands above.", Exit.DEFECT)
    return Exit.DONE


def _code_of(end: SystemExit) -> int:
    """The code with which the parser of commands ends, where that is by our rule."""
    match end.__context__:
        case typer.Abort():  # a question that nobody answers
            return Exit.INPUT
        case BrokenPipeError():  # nobody reads on
            return 128 + signal.SIGPIPE
    return end.code if isinstance(end.code, int) else Exit.DONE


def _said(sentence: str, code: int) -> int:
    say(f"weft: {sentence}", err=True)
    return code
