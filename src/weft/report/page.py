"""A page of HTML that needs nothing but itself: light or dark as the reader likes it, on a phone, or on paper."""

import base64
import csv
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from weft.model.storage import new_path

ASSETS = Path(__file__).parent / "assets"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{css}</style>
</head>
<body{kind}>
<h1>{title}</h1>
{body}
<div id="tip" role="status" hidden></div>
<script type="module">
{js}</script>
</body>
</html>
"""


def write_page(path: Path, title: str, body: str, *, scripts: Sequence[str] = (), wide: bool = False) -> None:
    """Write a page with its style and scripts; a wide one takes the whole window."""
    css = (ASSETS / "page.css").read_text()
    js = "".join((ASSETS / name).read_text() for name in ("page.js", *scripts))
    kind = ' class="wide"' if wide else ""
    with new_path(path, force=True) as partial:
        partial.write_text(_PAGE.format(title=escape(title), css=css, js=js, body=body, kind=kind))


def section(heading: str, content: str) -> str:
    return f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>"


def facts(values: Mapping[str, Any]) -> str:
    """Names and values, a row each; a value that is a mapping is listed in its cell."""
    rows = (
        f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{_cell(value)}</td></tr>" for name, value in values.items()
    )
    return f'<div class="scroll"><table><tbody>{"".join(rows)}</tbody></table></div>'


def comparison(systems: Mapping[str, Mapping[str, Any]]) -> str:
    """A column a system, a row a figure; all systems have the same figures."""
    figures = next(iter(systems.values()))
    rows = ([figure, *(_cell(system[figure]) for system in systems.values())] for figure in figures)
    return table(["", *map(escape, systems)], rows)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML."""
    head = "".join(f"<th>{cell}</th>" for cell in heading)
    body = "".join(
        f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>" for first, *others in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def download(name: str, rows: Iterable[Sequence[object]]) -> str:
    """A link to a file of CSV that is inside the page."""
    buffer = StringIO()
    csv.writer(buffer).writerows(rows)
    data = base64.b64encode(buffer.getvalue().encode()).decode()
    return f'<a download="{name}" href="data:text/csv;base64,{data}">{name}</a>'


def figure(svg: str, caption: str = "", *, wide: bool = False) -> str:
    caption_html = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    kind = "wide" if wide else "small"
    return f'<figure class="{kind}">{svg}{caption_html}</figure>'


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{escape(str(key))} {_cell(inner)}" for key, inner in value.items())
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) or abs(value) >= 10_000 else f"{value:,.4g}"
    return escape(str(value))
