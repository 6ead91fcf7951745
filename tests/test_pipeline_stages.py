import json
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.pipeline.stages import Outcome, Stage, run_stages


class Work:
    """Stages a -> b -> c that write their options, and remember that they ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def stages(self, **options: int) -> list[Stage]:
        return [Stage(name, f"{name}.txt", {"x": options.get(name, 0)}, self.write(name)) for name in "abc"]

    def write(self, name: str) -> Callable[[Path], dict[str, str]]:
        def work(out: Path) -> dict[str, str]:
            self.ran.append(name)
            out.parent.mkdir(exist_ok=True)
            out.write_text(name)
            return {"wrote": name}

        return work

    def run(self, folder: Path, force: bool = False, **options: int) -> list[Outcome]:
        self.ran.clear()
        return list(run_stages(folder, self.stages(**options), force))


def test_finished_stages_are_not_run_again(tmp_path: Path) -> None:
    work = Work()
    first = work.run(tmp_path / "run")
    assert work.ran == ["a", "b", "c"]
    again = work.run(tmp_path / "run")
    assert work.ran == []
    assert [outcome.result for outcome in again] == [outcome.result for outcome in first]
    assert [outcome.reused for outcome in again] == [True] * 3


def test_a_changed_option_runs_its_stage_and_those_behind_it(tmp_path: Path) -> None:
    work = Work()
    stages = run_stages(tmp_path / "run", work.stages())
    next(stages)
    next(stages)
    work.run(tmp_path / "run", b=1)
    assert work.ran == ["b", "c"]


def test_a_finished_run_of_other_options_is_replaced_only_by_force(tmp_path: Path) -> None:
    work = Work()
    work.run(tmp_path / "run")
    with pytest.raises(WeftError, match=r"is a finished run.*: b, c would be made again.*`force`") as told:
        work.run(tmp_path / "run", b=1)
    assert (work.ran, told.value.options) == ([], ("force",))
    assert [outcome.reused for outcome in work.run(tmp_path / "run")] == [True] * 3
    work.run(tmp_path / "run", force=True, b=1)
    assert work.ran == ["b", "c"]


def test_a_run_that_broke_off_when_it_was_replaced_is_not_finished(tmp_path: Path) -> None:
    work = Work()
    work.run(tmp_path / "run")
    stages = run_stages(tmp_path / "run", work.stages(b=1), force=True)
    next(stages)
    work.run(tmp_path / "run", b=1)
    assert work.ran == ["b", "c"]


def test_a_missing_output_is_made_again(tmp_path: Path) -> None:
    work = Work()
    work.run(tmp_path / "run")
    (tmp_path / "run" / "c.txt").unlink()
    work.run(tmp_path / "run")
    assert work.ran == ["c"]


def test_a_run_that_broke_off_continues(tmp_path: Path) -> None:
    work = Work()
    stages = run_stages(tmp_path / "run", work.stages())
    next(stages)
    next(stages)
    work.run(tmp_path / "run")
    assert work.ran == ["c"]


def test_a_folder_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(WeftError, match="is not a run of weft"):
        Work().run(tmp_path)


def test_a_spoiled_state_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps([])[:-1])
    with pytest.raises(WeftError, match=r"run\.json cannot be read"):
        Work().run(tmp_path)
