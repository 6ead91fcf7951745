"""Memory that is short: what shows it, and how it is told.

Python, NumPy and Arrow raise MemoryError, and so do kernels. But a limit on the process (`ulimit -v`) also strikes
where libraries are loaded, threads started and machine code made, and there it shows as an ImportError, or a compiler
that aborts. So a limit under which not even that has room is told before anything is loaded.
"""

import errno
import resource

from weft.errors import SurroundingsError

SHORTAGE = "There is not enough memory for this: ask for less, or take a larger machine."
LEAST = 1_500_000  # KiB of addresses for Python, the libraries, and a compiler at work

_SIGNS = (
    "failed to map segment",  # of a library that is loaded
    "annot allocate memory",
    "can't start new thread",
    "returned NULL without setting an exception",  # by a function of Python's own that could not allocate
)


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
