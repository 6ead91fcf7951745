from weft.errors import WeftError


def require_seed(seed: int) -> int:
    if not 0 <= seed < 2**63:
        raise WeftError(f"`seed` {seed} is out of range: give a number from 0 to 2^63 - 1.", "seed")
    return seed
