"""Histograms as bars of text: every count is in one row, and there are few rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.cli.bars import ROWS, WIDTH, bars
from weft.cli.output import print_result


@given(st.dictionaries(st.integers(0, 10**6), st.integers(1, 10**6), max_size=200))
def test_all_is_counted_once_in_a_few_rows(counts: dict[int, int]) -> None:
    rows = list(bars(counts))
    assert sum(int(row.rpartition(" ")[2].replace(",", "")) for row in rows) == sum(counts.values())
    assert len(rows) <= max(ROWS, 22)  # ranges that double
    assert all(row.count("█") <= WIDTH for row in rows)


def test_few_values_have_a_row_each() -> None:
    assert list(bars({3: 1000, 1: 10})) == ["  1  █ 10", f"  3  {'█' * WIDTH} 1,000"]


def test_many_values_are_put_together_in_ranges_of_one_width() -> None:
    rows = [row.split() for row in bars(dict.fromkeys(range(7, 67), 1))]
    assert [row[0] for row in rows] == ["0-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69"]
    assert [row[2] for row in rows] == ["3", "10", "10", "10", "10", "10", "7"]


def test_a_long_tail_is_put_together_in_ranges_that_double() -> None:
    tail = {1: 5000, **dict.fromkeys(range(2, 2000, 50), 1)}
    assert [row.split()[0] for row in bars(tail)][:3] == ["1", "2-3", "32-63"]


def test_a_node_is_no_count(capsys: pytest.CaptureFixture[str]) -> None:
    print_result({"load": {"sent": {"mean": 1.0}, "most_loaded_node": 12345}, "seed": 20261115, "links": 12345}, False)
    shown = capsys.readouterr().out
    assert "node  12345\n" in shown
    assert "20261115" in shown
    assert "12,345" in shown
