"""An archive of Spark's classes, as Java has them in memory: to load and verify them is most of Spark's start.

A rehearsal of what the pipeline does lists the classes, and Java writes them to a file (class data sharing). It is good
for one Java and one Spark, by which it is named; Java checks that as well, and goes without where it does not fit.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from weft.ending import Order, at_stop
from weft.model.storage import new_path, remove
from weft.pipeline.gateway import archive_file, java_command, java_for
from weft.pipeline.ingest import ingest
from weft.pipeline.java import provide_java
from weft.pipeline.sample import sample
from weft.pipeline.session import SETTINGS, connected, surroundings
from weft.raw.source import Source
from weft.workloads.sample import Sampling

MASTER = "local[2]"


def provide_archive() -> Path | None:
    """The archive for this machine's Java, made if need be; none where Java cannot make one."""
    provide_java()
    file = archive_file()
    if not file.exists():
        folder = Path(tempfile.mkdtemp(prefix="weft-archive-"))
        with at_stop(Order.FILES, lambda: remove(folder)):
            try:
                _rehearse(folder)
                _write(folder / "classes", file)
            finally:
                remove(folder)
    return file if file.stat().st_size else None


def _rehearse(folder: Path) -> None:
    listing = {"spark.driver.extraJavaOptions": f"-Xshare:off -XX:DumpLoadedClassList={folder / 'classes'}"}
    settings = {**SETTINGS, **surroundings(MASTER), **listing}
    (folder / "edges.txt").write_text("".join(f"{i} {i * 7 % 50}\na{i} {i}\n" for i in range(50)))
    with java_for(MASTER, settings):
        spark = connected(MASTER, settings)
        ingest(spark, Source((str(folder / "edges.txt"),), "follows"), folder / "instance")
        sample(spark, folder / "instance", Sampling(20), folder / "sample")
        spark.stop()


def _write(classes: Path, file: Path) -> None:
    with new_path(file, force=True) as partial:
        dump = ["-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={partial}"]
        java = subprocess.Popen(
            [*java_command("1g"), *dump], env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if java.wait():
            remove(partial)
            partial.touch()  # empty: this Java makes none, and is not asked again
