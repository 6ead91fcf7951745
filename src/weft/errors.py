"""What went wrong, in a sentence for the person who can mend it, and the exit codes of commands.

The options that a sentence names are fields of the error: they stand in the sentence by their Python names, in
backticks, and the command line writes them as its flags.
"""

import traceback
from collections.abc import Iterable
from enum import IntEnum


class Exit(IntEnum):
    """How a command ends, by whose turn it is. By a signal it ends with 128 and the signal's number."""

    DONE = 0
    NOT_HELD = 1  # a promise, a comparison or a proof does not hold
    INPUT = 2  # the user's input or options
    SURROUNDINGS = 3  # disk, port, network, memory, Spark
    DEFECT = 70  # of Weft itself; EX_SOFTWARE of <sysexits.h>


class WeftError(Exception):
    """A mistake in the input or the options: what is wrong, where, and what to do."""

    exit_code: int = Exit.INPUT

    def __init__(self, sentence: str, *options: str) -> None:
        super().__init__(sentence)
        self.options = options  # that the sentence names


def listed(options: Iterable[str]) -> str:
    """Options as a sentence names them."""
    return ", ".join(f"`{option}`" for option in options)


class SurroundingsError(WeftError):
    """No mistake of the user's: the disk is full, Spark gave up, a file may not be written."""

    exit_code = Exit.SURROUNDINGS


class StoppedError(WeftError):
    """A signal has ended a command that had nothing to tell yet."""

    def __init__(self, sentence: str, number: int) -> None:
        super().__init__(sentence)
        self.exit_code = 128 + number


class DeliveryError(Exception):
    """A publication missed a subscriber or came to one twice: what was to be proved is not so, by a defect of Weft."""


def defect_sentence(what: str, error: Exception) -> str:
    """An error that should not have been, and the line where it was, for the log."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{what}: {type(error).__name__}: {error} ({frame.filename.rpartition('/')[2]}:{frame.lineno})"
