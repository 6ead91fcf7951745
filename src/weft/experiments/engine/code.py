"""The code that a result was made with, as a short hash of all that it can depend on."""

import hashlib
from functools import cache
from pathlib import Path

WEFT = Path(__file__).parents[2]
ROOMS = (  # what decides the figures of a run, and not how they are told
    "model",
    "kernels",
    "workloads",
    "overlays",
    "trees",
    "protocol",
    "sim",
    "experiments/measures",
    "experiments/runs",
)


@cache
def code_hash(folder: Path = WEFT) -> str:
    """Hash of the source files of these rooms, with their names."""
    digest = hashlib.blake2b(digest_size=6)
    for room in ROOMS:
        for path in sorted(path for path in (folder / room).rglob("*") if path.suffix in (".py", ".toml")):
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
