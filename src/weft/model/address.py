"""Addresses of inputs and outputs: a path is on this machine, always, and `scheme://` is what it says.

A `Path` made of an address swallows one of its slashes, and is a folder named `s3a:` then; so the question is asked of
the text, before anything makes a path of it.
"""

from pathlib import Path

from weft.errors import WeftError

_HERE = "file://"


def is_remote(text: str | Path) -> bool:
    """Whether it lies in a store that only Spark can reach."""
    return "://" in str(text) and not str(text).startswith(_HERE)


def local_path(text: str | Path) -> Path:
    """The path on this machine; what lies elsewhere is refused."""
    if isinstance(text, Path):
        return text
    if is_remote(text):
        raise WeftError(
            f"{text} is an address in a store, where only raw files to be ingested may lie: give a path, in a folder "
            "that all machines share where Spark has several."
        )
    return Path(text.removeprefix(_HERE))
