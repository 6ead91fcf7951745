"""A link as both of its ends name it."""

Link = tuple[int, int]  # the smaller number first


def link(one: int, other: int) -> Link:
    return (one, other) if one < other else (other, one)
