"""weft repair"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result

if TYPE_CHECKING:
    from weft.overlays.repair import Repair

EXAMPLE = "weft repair sites-gm --was sites --instance sites-today --out sites-gm-today"


def repair(
    overlay: o.InOverlay,
    was: Annotated[
        Path, typer.Option(metavar="INSTANCE", help="The instance that the overlay was made for.", show_default=False)
    ],
    instance: Annotated[
        Path,
        typer.Option(
            "--instance", metavar="INSTANCE", help="What it has become; nodes are the same by name.", show_default=False
        ),
    ],
    out: o.OutOverlay,
    seed: o.Seed = 1,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Repair an overlay after nodes or subscriptions have changed: few links open or close, those that serve nobody do.

    For gm, dc, dcbc, what was joined of these, and all overlays with a ring. changes.csv in the folder lists the links.
    """
    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.model.overlay import read_overlay
    from weft.model.storage import new_folder
    from weft.overlays.quality import link_quality
    from weft.overlays.repair import repair as repair_here

    with claimed(out, inputs=[overlay, was, instance], force=force):
        before, now, given = read_instance(was), read_instance(instance), read_overlay(overlay)
        with ConsoleProgress().step("Repairing"):
            made = repair_here(given, before, now, seed=seed)
            result = made.overlay.with_meta(quality=link_quality(now, made.overlay))
        with new_folder(out, force=force) as folder:
            result.write_into(folder, now.node_names)
            _write_changes(made, folder / "changes.csv")
    figures = {"overlay": str(out), "algorithm": result.meta["algorithm"], "nodes": result.nodes, "links": result.links}
    figures |= result.meta["repair"]
    if json:
        print_result(
            {**figures, "links_opened": made.opened, "links_closed": made.closed, **result.meta["quality"]}, json
        )
    else:
        print_result({**figures, **result.meta["quality"]}, json)


def _write_changes(made: "Repair", path: Path) -> None:
    """Write a row a link that was opened or closed, by the names of its nodes."""
    import csv

    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["change", "a", "b"])
        for change, links in (("open", made.opened), ("close", made.closed)):
            rows.writerows([change, *link] for link in links)
