"""How many threads a parallel kernel will run on."""

import numba


def thread_count() -> int:
    return int(numba.get_num_threads())
