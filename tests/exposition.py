"""Prometheus' text format, version 0.0.4, read strictly: what its scraper would refuse is an assertion."""

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?,?\}})? (\S+)")
KINDS = {"counter", "gauge", "histogram", "summary", "untyped"}


@dataclass
class Family:
    told: str
    kind: str = ""
    samples: dict[str, float] = field(default_factory=dict)  # by labels as they stand


def read_exposition(text: str) -> dict[str, Family]:
    assert text.endswith("\n")
    families: dict[str, Family] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, told = line[7:].partition(" ")
            assert re.fullmatch(NAME, name), line
            assert name not in families, f"{name} is told of twice"
            assert re.fullmatch(r"(?:[^\\]|\\[\\n])+", told), line
            families[name] = Family(told)
        elif line.startswith("# TYPE "):
            typed, kind = line[7:].split(" ")
            assert typed == name, line
            assert kind in KINDS, line
            assert not families[name].samples, f"the type of {name} comes too late"
            families[name].kind = kind
        else:
            _sample(line, families[name], name)
    return families


def _sample(line: str, family: Family, name: str) -> None:
    found = SAMPLE.fullmatch(line)
    assert found, line
    assert found[1] == name, f"{line} is not below its help"
    assert (found[2] or "") not in family.samples, f"{line} is there twice"
    assert family.kind != "counter" or name.endswith("_total"), f"{name} is a counter"
    assert family.kind != "gauge" or not name.endswith("_total"), f"{name} is a gauge"
    family.samples[found[2] or ""] = float(found[3])
