import pytest

from weft.kernels.jit import jit, leaf_jit


@leaf_jit
def twice(x):
    return 2 * x


@jit
def called_twice(x):
    return twice(x)


def test_only_kernels_can_call_a_leaf():
    with pytest.raises(TypeError, match="twice is a leaf"):
        twice(1)
    assert called_twice(1) == 2
    with pytest.raises(TypeError, match="twice is a leaf"):
        twice(1)
