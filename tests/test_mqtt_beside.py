"""docs/mqtt-conformance.md says of Mosquitto and paho what they do."""

import subprocess
from importlib.metadata import version

import pytest

from mosquitto_fleet import MOSQUITTO
from mqtt_beside import OF_PAHO, QUESTIONS, answers, mosquitto, section, weft
from mqtt_table import PAGE

FOUND = "" if MOSQUITTO is None else subprocess.run([MOSQUITTO, "-h"], capture_output=True, text=True).stdout
needs_mosquitto = pytest.mark.skipif("2.0.11" not in FOUND, reason="no mosquitto 2.0.11")


def cells(column: int, of: int) -> list[str]:
    """A column of the table of the page that has so many."""
    rows = [line.strip("| ").split(" | ") for line in section(PAGE.read_text()).splitlines() if line.startswith("| ")]
    return [row[column] for row in rows if len(row) == of][1:]


def test_the_page_asks_what_is_asked() -> None:
    assert cells(0, 3) == [one.what for one in QUESTIONS]
    assert cells(0, 2) == [what for what, _ in OF_PAHO]


@needs_mosquitto
def test_we_do_what_the_page_says() -> None:
    assert answers(weft) == cells(1, 3)


@needs_mosquitto
def test_mosquitto_does_what_the_page_says() -> None:
    assert answers(mosquitto) == cells(2, 3)


@pytest.mark.skipif(version("paho-mqtt") != "2.2.0", reason="another version of paho")
@pytest.mark.parametrize("place", range(len(OF_PAHO)), ids=[what for what, _ in OF_PAHO])
def test_paho_does_what_the_page_says(place: int) -> None:
    assert OF_PAHO[place][1]() == cells(1, 2)[place]
