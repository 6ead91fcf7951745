"""What an attribute's values are drawn from: `uniform(0, 100)`, `choice("A", "B")`, or a value that is always the same.

uniform(low, high)     numbers, each as likely          integers(low, high)   whole numbers, both ends included
normal(mean, sigma)    the normal distribution          exponential(mean)     waiting times, sizes
choice(a, b, ...)      values, each as likely           zipf(s, a, b, ...)    the n-th with a weight of n to the -s
"""

import re
from dataclasses import dataclass

import numpy as np

from weft.errors import WeftError
from weft.model.content import Value
from weft.model.expression import ESCAPE

WORD = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,()"']+)\s*(,|$)""", re.DOTALL)
NUMBERS = {"uniform": 2, "integers": 2, "normal": 2, "exponential": 1}  # how many each takes
KINDS = (*NUMBERS, "choice", "zipf")


@dataclass(frozen=True)
class Distribution:
    kind: str  # of KINDS
    values: tuple[Value, ...]


def parse_distribution(text: str) -> Distribution:
    found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text, re.DOTALL)
    if found is None:
        return Distribution("choice", tuple(_values(text)))
    kind, values = found[1].lower(), tuple(_values(found[2]))
    if kind not in KINDS:
        raise WeftError(f"{found[1]!r} is no distribution: give one of {', '.join(KINDS)}, or a value.")
    expected = NUMBERS.get(kind)
    numbers = [value for value in (values[:1] if kind == "zipf" else values) if not isinstance(value, str)]
    if expected is not None and (len(values) != expected or len(numbers) != expected):
        raise WeftError(f"{kind} takes {expected} numbers: {text.strip()!r} has others.")
    if kind == "zipf" and (len(values) < 2 or not numbers or numbers[0] < 0):
        raise WeftError(f"zipf takes an exponent from 0 and then values: {text.strip()!r} has others.")
    if (kind in ("uniform", "integers") and numbers[0] > numbers[1]) or (
        kind in ("normal", "exponential") and numbers[-1] < 0
    ):
        raise WeftError(f"{text.strip()!r} draws nothing: give the lower number first, and no spread below 0.")
    return Distribution(kind, values)


def draw_values(of: Distribution, count: int, random: np.random.Generator) -> list[Value]:
    numbers = [float(value) for value in of.values if not isinstance(value, str)]
    match of.kind:
        case "uniform":
            return list(random.uniform(numbers[0], numbers[1], count).tolist())
        case "integers":
            low, high = np.ceil(numbers[0]), np.floor(numbers[1])
            return list((low + np.floor(random.random(count) * (high - low + 1))).tolist())
        case "normal":
            return list(random.normal(numbers[0], numbers[1], count).tolist())
        case "exponential":
            return list(random.exponential(numbers[0], count).tolist())
        case "zipf":
            weights = np.arange(1.0, len(of.values)) ** -numbers[0]
            places = random.choice(len(weights), count, p=weights / weights.sum())
            return [of.values[1 + place] for place in places.tolist()]
    return [of.values[place] for place in random.integers(len(of.values), size=count).tolist()]


def _values(text: str) -> list[Value]:
    values: list[Value] = []
    at = 0
    while at < len(text):
        found = WORD.match(text, at)
        if found is None:
            raise WeftError(
                f"{text.strip()!r} is not understood: give numbers and texts in quotes, with commas between."
            )
        values.append(_value(found[1]))
        at = found.end()
    if not values:
        raise WeftError("There is no value to draw.")
    return values


def _value(word: str) -> Value:
    if word[0] in "\"'":
        return ESCAPE.sub(r"\1", word[1:-1])
    try:
        number = float(word)
    except ValueError:
        raise WeftError(f"{word!r} is no number: put texts in quotes.") from None
    if not np.isfinite(number):
        raise WeftError(f"{word!r} is no finite number.")
    return number
