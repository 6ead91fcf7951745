"""report.html: one page that needs nothing but itself, light or dark as the reader likes it."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from weft.model.storage import new_path

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; }}
table {{ border-collapse: collapse; display: block; overflow-x: auto; }}
th, td {{ text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid #8884; }}
td {{ font-variant-numeric: tabular-nums; }}
svg {{ max-width: 100%; height: auto; }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def write_page(path: Path, title: str, sections: Sequence[tuple[str, str]]) -> None:
    """Sections are headings and their HTML."""
    body = "\n".join(f"<h2>{escape(heading)}</h2>\n{content}" for heading, content in sections)
    with new_path(path, force=True) as partial:
        partial.write_text(_PAGE.format(title=escape(title), body=body))


def facts(values: Mapping[str, Any]) -> str:
    """Names and values, a row each; a value that is a mapping is listed in its cell."""
    rows = (
        f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{_cell(value)}</td></tr>" for name, value in values.items()
    )
    return f"<table>{''.join(rows)}</table>"


def comparison(systems: Mapping[str, Mapping[str, Any]]) -> str:
    """A column a system, a row a figure; all systems have the same figures."""
    head = "".join(f"<th>{escape(name)}</th>" for name in systems)
    figures = next(iter(systems.values()))
    rows = "".join(
        f"<tr><th>{escape(figure)}</th>" + "".join(f"<td>{_cell(system[figure])}</td>" for system in systems.values())
        for figure in figures
    )
    return f"<table><tr><th></th>{head}</tr>{rows}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{escape(str(key))} {_cell(inner)}" for key, inner in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    return escape(str(value))
