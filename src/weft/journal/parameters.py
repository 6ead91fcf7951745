"""What can be set of a journal."""

from dataclasses import dataclass
from enum import StrEnum

from weft.errors import WeftError

MEBIBYTE = 1 << 20


class Sync(StrEnum):
    """What outlives what, once it was reported as synced."""

    DISK = "disk"  # the loss of power
    PROCESS = "process"  # the end of the process, whatever its cause
    NONE = "none"  # nothing: written a moment later, and nobody waits for it


@dataclass(frozen=True, slots=True)
class Parameters:
    segment_bytes: int = 64 * MEBIBYTE  # a segment that is longer gets a successor; at least 1
    frame_bytes: int = 4 * MEBIBYTE  # of records in one frame, unless one record is longer; at least 1
    compact_bytes: int = 64 * MEBIBYTE  # shorter journals are not compacted; at least 1
    compact_ratio: float = 1.0  # nor those with fewer bytes behind the snapshot than this times its own; at least 0

    def __post_init__(self) -> None:
        for name in ("segment_bytes", "frame_bytes", "compact_bytes"):
            if getattr(self, name) < 1:
                raise WeftError(f"{name} is {getattr(self, name)}: give at least 1.")
        if not self.compact_ratio >= 0:
            raise WeftError(f"compact_ratio is {self.compact_ratio}: give at least 0.")
