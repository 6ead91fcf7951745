"""The identity of a node, kept with its data: its name, its number, and an incarnation that a new folder draws anew."""

import json
import os
from pathlib import Path

from weft.errors import SurroundingsError, WeftError
from weft.node.identity import Identity

FILE = "identity.json"


def read_identity(folder: Path | None, name: str) -> Identity:
    """What the folder says, or somebody new."""
    if folder is None or not (folder / FILE).exists():
        return Identity(name, "", int.from_bytes(os.urandom(8)) | 1)
    known = kept_identity(folder)
    if known.name != name:
        raise WeftError(
            f"{folder} is of the node {known.name}, not of {name}: give that `name`, or another `data` folder.",
            "name",
            "data",
        )
    return known


def kept_identity(folder: Path) -> Identity:
    path = folder / FILE
    try:
        kept = json.loads(path.read_text())
        return Identity(kept["name"], kept["cluster"], kept["incarnation"], node=kept["number"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SurroundingsError(f"{path} cannot be read: restore it from a copy, or choose another folder.") from error


def write_identity(folder: Path, identity: Identity) -> None:
    """Write it beside and rename it: a crash leaves the old one or the new."""
    kept = {"name": identity.name, "number": identity.node, "incarnation": identity.incarnation}
    part = folder / f"{FILE}.part"
    with part.open("w") as file:
        json.dump({**kept, "cluster": identity.cluster}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / FILE)
