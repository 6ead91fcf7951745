"""A few lines that say, from the files of `weft popsub` alone, what must be delivered to whom."""

import csv
import json
import re


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cell(text):
    if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", text):
        return float(text)
    return text or None


def python_of(text):
    """The filter as an expression of Python, each comparison a call."""
    value = r"""("[^"]*"|'[^']*'|-?[\d.]+)"""
    text = re.sub(r"([\w.]+)\s+in\s+\((.*?)\)", r"compare('\1', 'in', (\2,))", text)
    text = re.sub(rf"([\w.]+)\s*(!=|<=|>=|=|<|>|\^)\s*{value}", r"compare('\1', '\2', \3)", text)
    return text or "True"


def matches(text, values):
    def compare(name, sign, other):
        value = values.get(name)
        if value is None:
            return False
        if sign == "in":
            return value in other
        if sign == "^":
            return isinstance(value, str) and value.startswith(other)
        if sign in ("=", "!="):
            return (value == other) == (sign == "=")
        same = isinstance(value, str) == isinstance(other, str)
        return (
            same
            and {"<": lambda: value < other, "<=": lambda: value <= other}.get(
                sign, {">": lambda: value > other, ">=": lambda: value >= other}.get(sign)
            )()
        )

    return bool(eval(python_of(text), {"compare": compare}))


def due(advertisements, subscriptions, log):
    """(row of the publication from 1, id of the subscription), sorted."""
    kinds = {row["id"]: row["class"] for row in rows_of(advertisements)}
    wanted = rows_of(subscriptions)
    pairs = []
    for number, row in enumerate(rows_of(log), 1):
        if "payload" in row:
            values = json.loads(row["payload"])
        else:
            values = {name: cell(text) for name, text in row.items() if name not in ("time", "advertisement")}
        kind = kinds[row["advertisement"]]
        pairs += [(number, one["id"]) for one in wanted if one["class"] == kind and matches(one["filter"], values)]
    return sorted(pairs)
