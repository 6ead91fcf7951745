import numba
import numpy as np
import pytest

from weft.kernels.parallel import CHUNKS, FEW_STEPS, chunk_bounds, threads_for


@pytest.mark.parametrize("steps", [[], [0, 0, 0], [5], [1] * 1000, [0, 10**12, 0, 1], list(range(100))], ids=len)
def test_chunks_hold_every_row_once(steps):
    bounds = chunk_bounds(np.array(steps, np.int64))
    assert len(bounds) == CHUNKS + 1
    assert (bounds[0], bounds[-1]) == (0, len(steps))
    assert np.all(np.diff(bounds) >= 0)


def test_chunks_have_equal_work():
    steps = np.random.default_rng(1).integers(1, 1000, 50_000)
    work = np.add.reduceat(steps, chunk_bounds(steps)[:-1])
    assert work == pytest.approx(np.full(CHUNKS, steps.sum() / CHUNKS), rel=0.01)


def test_one_thread_for_few_steps_and_only_for_them():
    before = numba.get_num_threads()
    with threads_for(FEW_STEPS):
        assert numba.get_num_threads() == before
    with threads_for(FEW_STEPS - 1):
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
