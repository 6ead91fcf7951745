"""Lines that commands print: the one way in which anything of theirs reaches a terminal.

Names come from clients, files and other machines, and may have anything in them: an escape sequence that a terminal
obeys, a line's end and a line that was never told. What cannot be seen is written as Python writes it.
"""

import typer


def say(*lines: str, err: bool = False) -> None:
    for line in lines:
        typer.echo(visible(line), err=err)


def visible(text: str) -> str:
    """The text with all that cannot be seen, ends of lines too, written as escapes."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
