"""The same targets guided by coverage, where atheris is installed.

PYTHONPATH=tests python -m fuzzing.guided TARGET [-max_total_time=60 and other options of libFuzzer]
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["weft"]):
    from fuzzing.targets import TARGETS


def main() -> None:
    name, *options = sys.argv[1:]
    target = TARGETS[name]

    def read(data: bytes) -> None:
        try:
            target.read(data)
        except target.allowed:
            return

    with tempfile.TemporaryDirectory() as folder:
        for number, example in enumerate(target.examples):
            (Path(folder) / str(number)).write_bytes(example)
        atheris.Setup([name, folder, *options], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
