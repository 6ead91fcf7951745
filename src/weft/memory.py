"""Memory: how much there is; when it is short, what shows it, and how it is told.

Python, NumPy and Arrow raise MemoryError, and so do kernels. But a limit on the process (`ulimit -v`) also strikes
where libraries are loaded, threads started and machine code made, and there it shows as an ImportError, or a compiler
that aborts. So a limit under which not even that has room is told before anything is loaded.
"""

import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from weft.errors import SurroundingsError

SHORTAGE = "There is not enough memory for this: ask for less, or take a larger machine."
LEAST = 1_500_000  # KiB of addresses for Python, the libraries, and a compiler at work

# Where Linux shows the groups of a process (a container is one) and their limits: by the controller that a line of the
# first names, the folder below the second and the file of a group. Of its two versions the newer names none.
_GROUPS, _CONTROL = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_LIMITS = {"memory": ("memory", "memory.limit_in_bytes"), "": ("", "memory.max")}

_SIGNS = (
    "failed to map segment",  # of a library that is loaded
    "annot allocate memory",
    "can't start new thread",
    "returned NULL without setting an exception",  # by a function of Python's own that could not allocate
)


def memory_at_hand() -> int:
    """Bytes of memory of this machine, or of the container that this process is in, if that may have less."""
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits(_GROUPS, _CONTROL)])


def _limits(groups: Path, control: Path) -> Iterator[int]:
    """Limits of this process's group and of those above it; a container sees its own at the root of all."""
    for line in groups.read_text().splitlines() if groups.is_file() else []:
        _, controller, path = line.split(":", 2)
        if controller in _LIMITS:
            root, name = _LIMITS[controller]
            group = control / root / path.lstrip("/")
            for file in (folder / name for folder in (group, *group.parents)):
                if file.is_file() and (text := file.read_text().strip()) != "max":
                    yield int(text)


def require_memory() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST * 1024:
        raise SurroundingsError(
            f"There is not enough memory: this process may take {limit // 1024:,} KiB (ulimit -v), and Weft takes "
            f"{LEAST:,} before it has read anything. Allow more."
        )


def is_shortage(error: BaseException) -> bool:
    """Whether an error, or one that led to it, is for want of memory."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    earlier = error.__cause__ or error.__context__
    return any(sign in str(error) for sign in _SIGNS) or (earlier is not None and is_shortage(earlier))
