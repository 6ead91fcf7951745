"""Names of topics, and filters: what is one, and which filter matches which name.

`matches` is the definition. The broker's indexes (broker/filter.py, model/name_index.py) find the same, faster.
"""

SHARE = "$share/"


def is_name(text: str) -> bool:
    """A topic that can be published on."""
    return bool(text) and "+" not in text and "#" not in text and "\0" not in text


def is_filter(text: str) -> bool:
    """A filter that can be subscribed to: `#` alone in the last level, `+` alone in a level."""
    if not text or "\0" in text:
        return False
    levels = text.split("/")
    if any("#" in level for level in levels[:-1]):
        return False
    return all(level in ("+", "#") or ("+" not in level and "#" not in level) for level in levels)


def is_wild(pattern: str) -> bool:
    return "+" in pattern or "#" in pattern


def is_shared(pattern: str) -> bool:
    return pattern.startswith(SHARE) or pattern == "$share"


def split_shared(pattern: str) -> tuple[str, str] | None:
    """The name of the group and the filter behind it; None if the pattern is no valid shared subscription."""
    parts = pattern.split("/", 2)
    if len(parts) < 3 or not parts[1] or "+" in parts[1] or "#" in parts[1] or not is_filter(parts[2]):
        return None
    return parts[1], parts[2]


def matches(pattern: str, name: str) -> bool:
    """Wildcards in the first level do not match names that begin with $."""
    wanted, levels = pattern.split("/"), name.split("/")
    if name.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for place, part in enumerate(wanted):
        if part == "#":
            return True
        if place >= len(levels) or (part not in ("+", levels[place])):
            return False
    return len(wanted) == len(levels)
