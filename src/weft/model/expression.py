"""The text of a filter: `price > 10 and symbol in ("A", "B") and name ^ "eu/"`.

    filter      = either | nothing at all, which is everything of the class
    either      = both { "or" both }
    both        = denial { "and" denial }
    denial      = { "not" } ( "(" either ")" | comparison )
    comparison  = name ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
                | name "in" "(" value { "," value } ")"
                | name "^" text
    value       = number | text

docs/filters.md says it for users. A comparison is between values of one kind: a number is neither less nor more than a
text, and not equal to it. It becomes a set of values of one attribute, and the filter a union of conjunctions of them
(weft.model.content): `not` goes down to the comparisons, which it turns round, and `or` inside `and` is multiplied out.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isfinite

from weft.errors import WeftError
from weft.model.content import (
    ANY_VALUE,
    MOST_CONJUNCTIONS,
    NONE_NEEDED,
    Filter,
    Value,
    Values,
    above,
    below,
    equal,
    one_of,
    prefix,
)

LONGEST = 65_536  # characters of a filter
DEEPEST = 64  # brackets and `not` inside each other

COMPARISONS: dict[str, Callable[[Value], Values]] = {
    "=": equal,
    "!=": lambda value: ANY_VALUE & ~equal(value),
    "<": below,
    "<=": lambda value: below(value) | equal(value),
    ">": above,
    ">=": lambda value: above(value) | equal(value),
}
KEYWORDS = ("and", "or", "not", "in")
WORD = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<quoted>`[^`]+`)
    | (?P<name>[^\W\d][\w.:/$@-]*)
    | (?P<sign>!=|<=|>=|[=<>^(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t"}  # any other character stands for itself

Conjunctions = list[dict[str, Values]]


@dataclass(frozen=True)
class Word:
    kind: str  # of the groups of WORD, "keyword", or "end"
    text: str
    place: int  # of its first character, from 1


def parse_filter(kind: str, text: str) -> Filter:
    """The filter of a class that a text says."""
    if len(text) > LONGEST:
        raise WeftError(f"The filter has {len(text):,} characters, and {LONGEST:,} at most are read: divide it.")
    try:
        return Filter(kind, *(_Parser(text).whole() if text.strip() else [{}]))
    except WeftError as error:
        shown = text if len(text) <= 200 else text[:200] + "..."
        raise WeftError(f"The filter {shown!r} is not understood: {error}") from error


class _Parser:
    """A word at a time; a method a rule of the grammar, which returns conjunctions, turned round where it is denied."""

    def __init__(self, text: str) -> None:
        self._words = _words_of(text)
        self._next = next(self._words)
        self._depth = 0

    def whole(self) -> Conjunctions:
        found = self._either(False)
        if self._next.kind != "end":
            raise self._unexpected("`and`, `or` or the end")
        return found

    def _either(self, denied: bool) -> Conjunctions:
        return self._chain("or", self._both, denied)

    def _both(self, denied: bool) -> Conjunctions:
        return self._chain("and", self._denial, denied)

    def _chain(self, word: str, part: Callable[[bool], Conjunctions], denied: bool) -> Conjunctions:
        """Parts with `and` or `or` between them; of what is denied, `or` becomes `and`."""
        join = _united if (word == "or") != denied else _multiplied
        found = part(denied)
        while self._next == Word("keyword", word, self._next.place):
            self._take()
            found = join(found, part(denied))
        return found

    def _denial(self, denied: bool) -> Conjunctions:
        self._depth += 1
        if self._depth > DEEPEST:
            raise WeftError(f"brackets and NOT go deeper than {DEEPEST}.")
        if self._next.kind == "keyword" and self._next.text == "not":
            self._take()
            found = self._denial(not denied)
        elif self._next.text == "(" and self._next.kind == "sign":
            self._take()
            found = self._either(denied)
            self._require(")")
        else:
            name, values = self._comparison()
            found = _of_one(name, ~values if denied else values)
        self._depth -= 1
        return found

    def _comparison(self) -> tuple[str, Values]:
        if self._next.kind not in ("name", "quoted"):
            raise self._unexpected("the name of an attribute, `not` or `(`")
        taken = self._take()
        name = taken.text.strip("`") if taken.kind == "quoted" else taken.text
        sign = self._take()
        if sign.kind == "sign" and sign.text in COMPARISONS:
            return name, COMPARISONS[sign.text](self._value())
        if sign.kind == "sign" and sign.text == "^":
            if self._next.kind != "text":
                raise self._unexpected("a text in quotes after `^`")
            return name, prefix(str(self._value()))
        if sign.kind == "keyword" and sign.text == "in":
            self._require("(")
            values = [self._value()]
            while self._next.text == "," and self._next.kind == "sign":
                self._take()
                values.append(self._value())
            self._require(")")
            return name, one_of(values)
        raise _unexpected(sign, f"a comparison after {name}: =, !=, <, <=, >, >=, ^ or in")

    def _value(self) -> Value:
        if self._next.kind not in ("number", "text"):
            hint = ", in quotes" if self._next.kind == "name" else ""
            raise self._unexpected(f"a number or a text{hint}")
        word = self._take()
        if word.kind == "text":
            return ESCAPE.sub(lambda found: ESCAPED.get(found[1], found[1]), word.text[1:-1])
        if not isfinite(float(word.text)):
            raise _unexpected(word, "a number that is not that large")
        return float(word.text)

    def _require(self, sign: str) -> None:
        if self._next.kind != "sign" or self._next.text != sign:
            raise self._unexpected(f"`{sign}`")
        self._take()

    def _take(self) -> Word:
        word = self._next
        if word.kind != "end":
            self._next = next(self._words)
        return word

    def _unexpected(self, wanted: str) -> WeftError:
        return _unexpected(self._next, wanted)


def _unexpected(word: Word, wanted: str) -> WeftError:
    found = "it ends" if word.kind == "end" else f"{word.text[:40]} stands"
    return WeftError(f"{found} at character {word.place}, where {wanted} should be.")


def _words_of(text: str) -> Iterator[Word]:
    at = 0
    while found := WORD.match(text, at):
        kind = found.lastgroup or ""
        word, place = found[kind], found.start(kind) + 1
        at = found.end()
        if kind == "name" and word.lower() in KEYWORDS:
            yield Word("keyword", word.lower(), place)
        else:
            yield Word(kind, word, place)
    rest = text[at:]
    place = at + len(rest) - len(rest.lstrip()) + 1
    if rest.strip():
        quote = rest.strip()[0] in "\"'`"
        problem = "opens a quote that is not closed" if quote else "cannot be read"
        raise WeftError(f"{rest.strip()[:40]} {problem}, at character {place}.")
    yield Word("end", "", len(text) + 1)


def _of_one(name: str, values: Values) -> Conjunctions:
    return [{name: values}] if values else []


def _united(some: Conjunctions, others: Conjunctions) -> Conjunctions:
    return _joined([*some, *others])


def _multiplied(some: Conjunctions, others: Conjunctions) -> Conjunctions:
    both = (_both_of(one, other) for one in some for other in others)
    return _joined(each for each in both if all(each.values()))


def _both_of(one: dict[str, Values], other: dict[str, Values]) -> dict[str, Values]:
    together = dict(one)
    for name, values in other.items():
        together[name] = together[name] & values if name in together else values
    return together


def _joined(conjunctions: Iterable[dict[str, Values]]) -> Conjunctions:
    """The conjunctions, of which two that differ in one attribute have become one."""
    kept: Conjunctions = []
    for one in conjunctions:
        while (other := next((each for each in kept if _differ_in_one(each, one)), None)) is not None:
            kept.remove(other)
            both = {name: values | other[name] for name, values in one.items()}
            one = {name: values for name, values in both.items() if values != NONE_NEEDED}
        kept.append(one)
        if len(kept) > MOST_CONJUNCTIONS:
            Filter("", *kept)  # says so
    return kept


def _differ_in_one(one: dict[str, Values], other: dict[str, Values]) -> bool:
    return one.keys() == other.keys() and sum(one[name] != other[name] for name in one) <= 1
