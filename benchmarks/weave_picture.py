"""The picture of docs/weave.md: one publication by Scribe, Pie and Weave.

python benchmarks/weave_picture.py docs/figures/weave.svg
"""

import sys
from pathlib import Path

from weft.report.example import example_strip


def main() -> None:
    Path(sys.argv[1]).write_text(example_strip())


if __name__ == "__main__":
    main()
