"""The order of tests among workers: all of them once, Spark's in one share, the longest at the heads of the others."""

from pathlib import Path
from types import SimpleNamespace

from shares import LONG, in_shares


def test_shares_begin_with_what_takes_longest():
    files = ["test_a.py", LONG[0], "test_b.py", LONG[1], LONG[2], "test_c.py"]
    items = [
        SimpleNamespace(path=Path("tests") / name, fixturenames=["spark"] * (number % 4 == 0), number=number)
        for number, name in enumerate(name for name in files for _ in range(10))
    ]
    ordered = in_shares(items, 3)
    assert sorted(item.number for item in ordered) == list(range(60))
    shares = [ordered[first : first + 20] for first in (0, 20, 40)]
    assert [item.number for item in ordered if item.fixturenames] == [item.number for item in shares[0][:15]]
    heads = [[item.path.name for item in share[:8]] for share in shares[1:]]
    assert [set(head[:7]) for head in heads] == [{LONG[0]}, {LONG[1]}]
    assert LONG[2] in {item.path.name for item in shares[1]}
