from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from weft.errors import SurroundingsError, WeftError
from weft.live.disk import Disk

NODES = 8


def test_nodes_that_start_at_once_make_the_folder_above_theirs(tmp_path: Path) -> None:
    def start(folder: Path) -> None:
        barrier.wait()
        Disk(folder).close()

    for attempt in range(50):
        barrier = Barrier(NODES)
        with ThreadPoolExecutor(NODES) as threads:
            folders = [tmp_path / f"attempt-{attempt}" / "data" / f"node-{node}" for node in range(NODES)]
            list(threads.map(start, folders))


def test_a_file_in_the_place_of_a_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    with pytest.raises(SurroundingsError, match="data cannot be made a folder"):
        Disk(tmp_path / "data")
    assert (tmp_path / "data").read_text() == "mine"


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data")
    with pytest.raises(WeftError, match="is in use"):
        Disk(tmp_path / "data")
    disk.close()
    Disk(tmp_path / "data").close()
