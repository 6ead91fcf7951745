"""The table of what a broker forwards, measured between two processes, is what the simulation reads."""

from pathlib import Path

from command_line import Run
from weft.live.bench.capacity import SIZES, measured_between_processes
from weft.sim.capacity import read_capacity


def test_a_table_is_measured_between_two_processes_and_read_again(tmp_path: Path) -> None:
    heard: list[int] = []
    table = measured_between_processes(200, 64, 1, heard.append)
    assert heard == list(range(1, len(SIZES) + 1))
    file = tmp_path / "capacity.toml"
    file.write_text(table.text("a test"))
    capacity = read_capacity(file)
    assert capacity.sizes == SIZES == tuple(table.rates)
    assert capacity.speedup[0] == 1.0
    assert 0 < capacity.additional < 1
    assert abs(capacity.publications_per_second - table.rates[1]) <= 0.5


def test_brokers_that_it_starts_itself_have_no_address(run_weft: Run) -> None:
    told = run_weft("bench", "127.0.0.1:1", "--capacity", "c.toml")
    assert (told.code, Path("c.toml").exists()) == (2, False)
    assert "--capacity is of brokers that it starts itself" in told.err
