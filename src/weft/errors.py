"""What went wrong, in a sentence for the person who can mend it.

The options that a sentence names are fields of the error: they stand in the sentence by their Python names, in
backticks, and the command line writes them as its flags.
"""

from collections.abc import Iterable


class WeftError(Exception):
    """A mistake in the input or the options: what is wrong, where, and what to do."""

    exit_code = 2

    def __init__(self, sentence: str, *options: str) -> None:
        super().__init__(sentence)
        self.options = options  # that the sentence names


def listed(options: Iterable[str]) -> str:
    """Options as a sentence names them."""
    return ", ".join(f"`{option}`" for option in options)


class SurroundingsError(WeftError):
    """No mistake of the user's: the disk is full, Spark gave up, a file may not be written."""

    exit_code = 3


class DeliveryError(Exception):
    """A publication missed a subscriber or came to one twice: a defect of Weft, which no input should provoke."""
