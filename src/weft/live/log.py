"""Logs: one line an event on standard error, as words or as JSON."""

import json
import sys
from datetime import UTC, datetime
from typing import TextIO

from weft.live.clock import Clock

DEFECT = "This process has met a defect of Weft and cannot go on: its log has a line `defect`; start it again."


class Log:
    def __init__(self, clock: Clock, as_json: bool = False, quiet: bool = False, out: TextIO = sys.stderr) -> None:
        self._clock = clock
        self._json = as_json
        self._quiet = quiet
        self._out = out

    def write(self, event: str, **fields: object) -> None:
        if self._quiet:
            return
        time = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {name: value for name, value in fields.items() if value not in ("", None)}
        if self._json:
            line = json.dumps({"time": time, "event": event, **told})
        else:
            line = " ".join([time, event, *(f"{name}={_word(value)}" for name, value in told.items())])
        self._out.write(line + "\n")


def _word(value: object) -> str:
    """The value as it is, or quoted where it would not be one word."""
    text = str(value)
    return text if text and text.isprintable() and not any(one in text for one in ' "=') else json.dumps(text)
