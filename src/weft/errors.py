"""What went wrong, in a sentence for the person who can mend it."""


class WeftError(Exception):
    """A mistake in the input, the options or the surroundings: what is wrong, where, and what to do."""
