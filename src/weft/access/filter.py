"""Filters beside filters: whether one covers all names that another matches, or some.

Both follow `matches` of wire/mqtt/topic.py, so a wildcard in the first level stands for no name that begins with `$`.
`covers` is sure where it says yes; the one pair that it does not know is `+/#` and `#`, which match the same.
"""

WILD = ("+", "#")


def covers(wide: str, narrow: str) -> bool:
    """Whether every name that `narrow` matches is matched by `wide`."""
    wanted, levels = wide.split("/"), narrow.split("/")
    if wanted[0] in WILD and levels[0].startswith("$"):
        return False
    for place, part in enumerate(wanted):
        if part == "#":
            return True
        if place >= len(levels) or levels[place] == "#" or part not in ("+", levels[place]):
            return False
    return len(wanted) == len(levels)


def overlaps(one: str, other: str) -> bool:
    """Whether there is a name that both match."""
    ours, theirs = one.split("/"), other.split("/")
    if (ours[0] in WILD and theirs[0].startswith("$")) or (theirs[0] in WILD and ours[0].startswith("$")):
        return False
    for mine, yours in zip(ours, theirs, strict=False):
        if "#" in (mine, yours):
            return True
        if mine != yours and "+" not in (mine, yours):
            return False
    longer, at = (ours, len(theirs)) if len(ours) > len(theirs) else (theirs, len(ours))
    return len(ours) == len(theirs) or longer[at] == "#"
