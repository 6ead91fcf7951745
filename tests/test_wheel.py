"""The wheel has all that the package is made of; that it works is tried by .ci/wheel."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]


def test_every_file_of_the_package_is_in_the_wheel(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("weft-*.whl")
    packed = {name for name in ZipFile(wheel).namelist() if name.startswith("weft/")}
    source = {
        path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "weft").rglob("*") if path.is_file()
    }
    assert packed == {name for name in source if "__pycache__" not in name}
    assert {Path(name).suffix for name in packed} >= {".py", ".toml", ".css", ".js", ".properties", ".typed"}
