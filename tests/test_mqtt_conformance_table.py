"""docs/mqtt-conformance.md says what the tests show, no more and no less."""

from collections import Counter

from mqtt_table import PAGE, ROW, rendered, rows, shown

# As many as appendix B of each standard has.
STATEMENTS = {"3.1.1": 141, "5.0": 251}


def test_every_statement_has_one_row() -> None:
    found = Counter((version, statement) for version, statement, _, _ in rows(PAGE.read_text()))
    assert [each for each, count in found.items() if count > 1] == []
    assert Counter(version for version, _ in found) == STATEMENTS


def test_every_row_has_a_test_or_a_reason() -> None:
    reasons = ("`", "client", "not offered: ", "not shown: ")
    assert [row[:2] for row in rows(PAGE.read_text()) if not row[3].startswith(reasons)] == []


def test_every_mark_is_a_row() -> None:
    there = {(version, statement) for version, statement, _, _ in rows(PAGE.read_text())}
    assert set(shown()) - there == set()


def test_the_page_names_the_tests_as_they_are() -> None:
    page = PAGE.read_text()
    assert page == rendered(page), "run: python tests/mqtt_table.py"


def test_the_page_has_no_row_that_is_not_read() -> None:
    looks_like = [line for line in PAGE.read_text().splitlines() if line.startswith("| MQTT")]
    assert [line for line in looks_like if not ROW.match(line)] == []
