"""The identity of a node, kept with its data: its name, its number, and an incarnation that a new folder draws anew."""

import json
import os
from pathlib import Path
from zlib import crc32

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
        known = Identity(kept["name"], kept["cluster"], kept["incarnation"], node=kept["number"])
        is_whole = kept.get("checksum", _checksum(known)) == _checksum(known)  # there was none once
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path) from error
    if not is_whole:
        raise _damaged(path)
    return known


def write_identity(folder: Path, identity: Identity) -> None:
    """Write it beside and rename it: a crash leaves the old one or the new."""
    part = folder / f"{FILE}.part"
    with part.open("w") as file:
        json.dump({**_fields(identity), "checksum": _checksum(identity)}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / FILE)


def _fields(identity: Identity) -> dict[str, str | int]:
    return {
        "name": identity.name,
        "number": identity.node,
        "incarnation": identity.incarnation,
        "cluster": identity.cluster,
    }


def _checksum(identity: Identity) -> int:
    return crc32(json.dumps(_fields(identity)).encode())


def _damaged(path: Path) -> SurroundingsError:
    return SurroundingsError(
        f"{path} is damaged: restore it from a copy, or have `weft salvage` write a folder with which the node joins "
        "as a new one."
    )
