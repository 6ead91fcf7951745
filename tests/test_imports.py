"""What is loaded when: `import weft` and `weft --help` must stay cheap."""

import subprocess
import sys

import pytest

HEAVY = {"numba", "pyspark", "asyncio", "numpy", "pyarrow", "pandas", "matplotlib"}


def loaded_by(code: str) -> set[str]:
    tail = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{tail}"], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("code", ["import weft", "import weft; dir(weft)"])
def test_import_weft_loads_nothing_heavy(code: str) -> None:
    assert loaded_by(code) & HEAVY == set()


def test_values_load_neither_numba_nor_spark_nor_asyncio() -> None:
    assert (
        loaded_by("import weft; weft.Instance, weft.Overlay, weft.Publications") & {"numba", "pyspark", "asyncio"}
        == set()
    )


@pytest.mark.parametrize("arguments", [["--help"], ["experiment", "--help"], ["experiment", "--list"]])
def test_telling_what_there_is_starts_neither_numba_nor_spark(arguments: list[str]) -> None:
    code = f"import contextlib, weft.cli\nwith contextlib.suppress(SystemExit): weft.cli.app({arguments})"
    assert loaded_by(code) & {"numba", "pyspark"} == set()


def test_naming_experiments_loads_no_simulator() -> None:
    assert loaded_by("from weft.experiments.catalog import EXPERIMENTS") & HEAVY == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    import weft

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = weft.nothing  # type: ignore[attr-defined]
