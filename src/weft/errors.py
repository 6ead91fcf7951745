"""What went wrong, in a sentence for the person who can mend it."""


class WeftError(Exception):
    """A mistake in the input or the options: what is wrong, where, and what to do."""

    exit_code = 2


class SurroundingsError(WeftError):
    """No mistake of the user's: the disk is full, Spark gave up, a file may not be written."""

    exit_code = 1
