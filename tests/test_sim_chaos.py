"""Networks in which everything fails that can (weft chaos), and what a seed that failed once has taught."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from mutation.chaos import defects
from weft.cli import app
from weft.sim.chaos.case import TROUBLES, Case, plain
from weft.sim.chaos.coincidence import drawn, mixed
from weft.sim.chaos.minimise import minimised
from weft.sim.chaos.stage import play, without
from weft.sim.chaos.verdict import Verdict

TAUGHT = {
    3: "a refusal for want of room is no acknowledgement",
    79: "a node that has joined a restarted master again, and has no link yet",
    144: "the master fails a node that it has given up already",
    332: "a node that the master turns away is started again",
    359: "members of a shared subscription at a node that is down",
    363: "a session comes to the node of the publisher while its publication is on its way",
    376: "a publisher that has lost its node says it again elsewhere",
    302: "a client changes its session before that is claimed, since the master was gone",
    519: "attempts of a node that was restarted in doubt",
    660: "publications issued before a node has its number",
    679: "a client that was let in without the master has had elsewhere what comes here before its session does",
    751: "a retained publication between others of its publisher",
    846: "a session brings along what it has been sent here as well",
    1119: "a session lost with a disk, and its client elsewhere",
    1216: "what is owed to a node that a re-design has moved",
    1239: "a session comes to the node of the publisher, which is restarted in doubt",
    2091: "a client comes back to the owner of its session, which waits for parts of it",
    2299: "another attempt at what goes after a session that has moved",
    2421: "a session is asked of a node whose disk is full",
}


# With coincidences.
TAUGHT_BESIDES = {
    446: "a client goes home while the master is slow to answer its node",
    487: "what is owed to a node whose client is back there without the master",
    666: "a connection that nobody is at, and what its client has got elsewhere",
    1188: "a client has missed with QoS 0 what waits for it elsewhere with QoS 1",
    2559: "a node that has let a client in alone, and is asked for its session later",
    2719: "an identifier that was released elsewhere, and is used again",
    3301: "a shared subscription whose members have left two nodes one after the other",
    3476: "what goes after a session comes before the rest of it",
    3629: "a disk that is too full to ask for a session",
    3650: "a session claimed late by a node whose client has gone, before its owner has said what it is like",
    3773: "what is to come with the rest of a session, and the power fails",
    6235: "a clock that jumps while a client waits for its session",
    7152: "a node that hears late that another has claimed a session",
    7191: "a retained message for a new subscription, and the same where a session comes from",
    7683: "a node that is farther away than the patience for its answers",
    7808: "an identifier that has come late, and is said again twice",
    8207: "a node that is back, and is moved in the same moment",
    8231: "a client that wanted no session, and is home when the master hears of it",
    8461: "what was owed to a node that has lost its disk",
    9621: "the last member of a shared subscription has just left",
    9629: "two nodes that give a client publications of QoS 2 under the same identifier",
    9682: "a member of a shared subscription that has left two nodes",
    10342: "what was owed to members at two nodes, one of which is gone for good",
    11059: "what waits for a session whose client has just been let in without it",
    12090: "a session claimed late for a client that has gone",
    13428: "a client that gets everything twice, by a shared subscription too",
    15906: "what was sent where the client is, and waits where it was",
    18748: "an identifier that comes to a connection that nobody is at",
    20699: "what expires, said again by a client that was away for longer",
    20701: "a disk that is too full to ask for the session of a client that says something again",
    23820: "a session is given away before its filters are in place where it goes",
    27535: "a member of a shared subscription leaves what it was given, and its issuer gives it again",
    31375: "what a client gave up elsewhere, where it is let in without the master",
    34526: "a session claimed late by a node that had let its client in without the master",
    35585: "a shared subscription just before its session is given to another node",
    44767: "a node that is slow to hear that it is asked for a session",
    45914: "what is owed to a node that was away, at a node that was restarted",
    50057: "what is for a session comes to a node that has the place of one that is down, before the session does",
    51973: "what a client gave up elsewhere, and wants again where it is let in without the master",
    53802: "what comes back to a node that a re-design has moved, and has no link yet",
    57108: "a node that is back before all others have heard that it was gone",
    60778: "a node that is given a table while it looks for a tree, and becomes the guest of its guest",
    66230: "a node leaves before a member of a shared subscription can acknowledge what it was sent",
    101445: "what is owed to a node that has left for good, is back, and has no place yet",
    105403: "a member of a shared subscription gives it up while what waits for it is at a node that has left",
}

# With scenes, and seeds in which nobody unsubscribes.
TAUGHT_AGAIN = {
    6091: "a member of a shared subscription whose session ends before it has got what it was sent with QoS 2",
    8416: "a node that claimed a session before others did, and asks for what has been given to another by then",
    100554: "a session begun anew in the place of another, whose node restarts, and a node that had claimed it before",
    108124: "a session begun without the master at a node that is restarted before it has claimed it",
    300158: "what a session had at a node that gave it away, gets it back, and does not reach who has the rest",
    602082: "a node that was restarted before it was missed, and what it had asked the master for before",
    709041: "an identifier under which two nodes have different publications, one of them released",
    915419: "a session that a node has claimed late, without its client, and that is cut off with it",
}


@pytest.mark.parametrize("seed", range(40))
def test_no_promise_is_broken(seed):
    assert play(drawn(seed)).found == ()


@pytest.mark.parametrize("seed", TAUGHT)
def test_no_promise_is_broken_where_one_was(seed):
    assert play(plain(seed)).found == ()


@pytest.mark.parametrize("seed", TAUGHT_BESIDES)
def test_no_promise_is_broken_where_one_was_by_coincidence(seed):
    assert play(mixed(seed)).found == ()


@pytest.mark.parametrize("seed", TAUGHT_AGAIN)
def test_no_promise_is_broken_where_one_was_by_coincidence_since(seed):
    assert play(drawn(seed)).found == ()


def test_a_seed_is_the_same_run_each_time():
    first, second = play(drawn(11)), play(drawn(11))
    assert first == second
    assert first.story
    assert play(drawn(12)).story != first.story


def test_seeds_try_everything():
    kinds = {act.kind for seed in range(60) for act in drawn(seed).faults}
    assert kinds == TROUBLES
    assert any(not drawn(seed).faults for seed in range(60))
    assert any(drawn(seed).tree for seed in range(60))


def test_a_failing_case_is_made_as_small_as_can_be():
    """The failure here: one act of two kinds, in this order."""

    def fails(case: Case) -> bool:
        kinds = [act.kind for act in case.acts]
        return "publish" in kinds and "unsubscribe" in kinds[kinds.index("publish") :]

    small = minimised(mixed(5), fails)
    assert [act.kind for act in small.acts] == ["publish", "unsubscribe"]
    assert small.clients == 1 + max(act.who for act in small.acts)


def test_acts_can_be_left_out():
    case = drawn(7)
    some = frozenset(act.number for act in case.acts[::2])
    left = without(case, some)
    assert [act.number for act in left.acts] == [act.number for act in case.acts[1::2]]
    assert play(left).found == ()


def test_a_broken_promise_is_told_with_its_story(monkeypatch):
    """A network that forgets all sessions that it knows: what is lost is told, and the command that shows it."""
    broken = Verdict(1, ("c1 has not got b'1' of c2 on a, QoS 1.",), story=("0.000 s  publish",))
    monkeypatch.setattr("weft.sim.chaos.campaign.play", lambda case: replace(broken, seed=case.seed))
    monkeypatch.setattr("weft.sim.chaos.campaign.ProcessPoolExecutor", _Here)
    result = CliRunner().invoke(app, ["chaos", "--seeds", "3", "--seed", "4", "--jobs", "1", "--json"])
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert [one["seed"] for one in told["failed"]] == [4, 5, 6]
    assert told["stories"][0]["command"] == "weft chaos --seed 4 --seeds 1"
    assert told["stories"][0]["acts"] == []
    assert told["stories"][0]["story"] == ["0.000 s  publish"]


def test_the_command_tells_what_was_tried():
    result = CliRunner().invoke(app, ["chaos", "--seeds", "2", "--jobs", "1", "--json"])
    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (told["seeds"], told["broken"], told["failed"]) == (2, 0, [])
    assert told["publications"] >= told["acknowledged"] > 0


@pytest.mark.parametrize("defect", defects(), ids=lambda defect: defect.name)
def test_defects_made_by_hand_are_of_the_code_as_it_is(defect):
    defect.tree()


class _Here:
    """Does at once what it is asked to."""

    def __init__(self, jobs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, work, *arguments):
        from concurrent.futures import Future

        done = Future()
        done.set_result(work(*arguments))
        return done
