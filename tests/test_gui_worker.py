"""The worker thread's contract, without any window: acknowledgements, epochs, failures, closing."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes_window import FakeSession, Script, opener, picture
from worldattention.app import messages as m
from worldattention.app.export import ExportJob
from worldattention.app.reel import Reel
from worldattention.app.worker import Worker
from worldattention.core.config import EngineConfig, with_choices
from worldattention.core.errors import UserError
from worldattention.core.timeline import Event, Timeline, make_timeline

ONE = make_timeline([Event(1, 0.0, 60.0, "a first prompt")])


class Desk:
    """A worker with everything that it says, and helpers to talk to it."""

    def __init__(self, timeline=ONE, **script):
        self.script = Script(**{"step_s": 0.005, "load_s": 0.004, **script})
        self.reel, self.rings, self.heard = Reel(), 0, []
        self.worker = Worker(
            opener(self.script), FakeSession, self.reel, self._ring, EngineConfig(), timeline
        )
        self.epoch = 0

    def _ring(self):
        self.rings += 1

    def post(self, kind, *args):
        command = kind(self.worker.new_id(), self.epoch, *args)
        self.worker.post(command)
        return command.id

    def until(self, test, seconds=5.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.heard += self.worker.take()
            for message in self.heard:
                if test(message):
                    return message
            time.sleep(0.002)
        raise AssertionError(f"never heard among {self.heard}")

    def answer(self, command_id):
        return self.until(lambda x: isinstance(x, m.Acknowledged) and x.id == command_id)

    def block(self, number, epoch=0):
        return self.until(
            lambda x: isinstance(x, m.Made) and x.telemetry.block == number and x.epoch == epoch
        )


@pytest.fixture
def desk():
    desks = []

    def make(**script):
        desks.append(Desk(**script))
        desks[-1].worker.start()
        return desks[-1]

    yield make
    for one in desks:
        if one.script.hold is not None:
            one.script.hold.set()
        assert one.worker.close(5)
        one.reel.close()


def running(one):
    one.post(m.SetRunning, True)
    one.block(0)
    return one


def test_it_loads_in_stages_then_waits_to_be_let_run(desk):
    one = desk()
    one.until(lambda x: isinstance(x, m.Ready))
    stages = [x.stage for x in one.heard if isinstance(x, m.Loading)]
    assert {"transformer", "autoencoder", "text encoder"} <= set(stages)
    time.sleep(0.05)
    assert one.script.steps == []
    running(one)


def test_it_stays_about_one_block_ahead_of_the_playhead(desk):
    one = running(desk())
    one.block(1)
    time.sleep(0.1)
    assert one.reel.made == 24  # one block is being watched, one lies ahead
    one.worker.played(12)
    one.block(2)
    time.sleep(0.1)
    assert one.reel.made == 36
    one.worker.played(200)  # a jump ahead does not let it run away
    one.block(3)


def test_a_prompt_is_acknowledged_with_the_block_at_which_it_shows(desk):
    one = running(desk())
    one.block(1)
    said = one.answer(one.post(m.Say, "something else"))
    assert said.refused is None
    assert said.seconds == said.block * 0.75
    one.worker.played(24)
    one.block(said.block)
    prompts = dict(one.script.steps)
    assert prompts[said.block] == "something else"
    assert prompts[said.block - 1] == "a first prompt"


def test_case_1_every_prompt_of_a_flood_is_acknowledged(desk):
    one = running(desk())
    ids = [one.post(m.Say, f"prompt {n}") for n in range(50)]
    one.post(m.SetTimeline, ONE, 0)
    assert [one.answer(i).refused for i in ids] == [None] * 50


def test_a_prompt_typed_while_the_window_edits_is_not_lost(desk):
    hold = threading.Event()
    one = desk(hold=hold)
    one.post(m.SetRunning, True)
    one.until(lambda x: isinstance(x, m.Begun))
    said = one.post(m.Say, "typed live")
    edited = make_timeline([Event(1, 0.0, 90.0, "a first prompt")])
    one.post(m.SetTimeline, edited, 0)  # the window has not heard of the prompt yet
    hold.set()
    block = one.answer(said).block
    one.worker.played(12 * block)
    one.block(block)
    assert dict(one.script.steps)[block] == "typed live"


def test_settings_take_effect_at_the_next_block(desk):
    one = running(desk())
    config = with_choices(EngineConfig(), attention="dense", retrieval="recent", seed=9)
    block = one.answer(one.post(m.Configure, config)).block
    one.worker.played(12 * block)
    record = one.block(block).telemetry
    assert (record.attention, record.retrieval, record.seed) == ("dense", "recent", 9)
    before = next(x.telemetry for x in one.heard if isinstance(x, m.Made) and x.telemetry.block == block - 1)
    assert before.attention == "hsa"


def test_refused_settings_say_why_and_the_world_goes_on(desk):
    one = running(desk(refuse=UserError("The quotas shape the memory: restart the world to change them.")))
    answer = one.answer(one.post(m.Configure, EngineConfig(seed=3)))
    assert "restart the world" in answer.refused
    one.worker.played(60)
    one.block(3)


def test_case_4_a_restart_cancels_the_block_and_old_frames_never_show(desk):
    hold = threading.Event()
    one = desk(hold=hold)
    one.post(m.SetRunning, True)
    one.until(lambda x: isinstance(x, m.Begun))
    stale = one.post(m.Configure, EngineConfig(seed=5))
    one.epoch = 1
    one.post(m.Restart, ONE, EngineConfig(seed=6))
    one.post(m.SetRunning, True)
    assert one.answer(stale).refused is not None
    assert one.script.cancelled == 1
    hold.set()
    assert one.block(0, epoch=1).telemetry.seed == 6
    assert not [x for x in one.heard if isinstance(x, m.Made) and x.epoch == 0]
    assert not one.reel.append(0, picture(0, "stale"))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (UserError("Do this instead."), "Do this instead."),
        (MemoryError(), "memory ran out"),
        (ValueError("odd"), "ValueError: odd"),
    ],
)
def test_a_failing_step_is_told_and_a_restart_revives_the_world(desk, error, words):
    one = running(desk(fail_at={2: error}))
    one.worker.played(24)
    failed = one.until(lambda x: isinstance(x, m.Failed))
    assert words in failed.sentence
    assert "\n" not in failed.sentence
    assert one.worker.alive
    one.epoch = 1
    one.post(m.Restart, ONE, EngineConfig())
    one.post(m.SetRunning, True)
    one.block(0, epoch=1)
    assert one.script.closed == 1  # the broken engine was let go


def test_a_failing_load_is_told_and_can_be_tried_again(desk):
    one = desk(fail_load=UserError("The weights are missing."))
    assert one.until(lambda x: isinstance(x, m.Failed)).sentence == "The weights are missing."
    one.epoch = 1
    one.post(m.Restart, ONE, EngineConfig())
    one.until(lambda x: isinstance(x, m.Ready))


@pytest.mark.parametrize("state", ["new", "loading", "idle", "stepping", "failed"])
def test_it_closes_in_every_state(desk, state):
    script = {"loading": {"load_s": 1.2}, "stepping": {"step_s": 60.0}, "failed": {"fail_at": {0: OSError()}}}
    one = desk(**script.get(state, {}))
    if state == "idle":
        one.until(lambda x: isinstance(x, m.Ready))
    elif state == "stepping":
        one.post(m.SetRunning, True)
        one.until(lambda x: isinstance(x, m.Begun))
    elif state == "failed":
        one.post(m.SetRunning, True)
        one.until(lambda x: isinstance(x, m.Failed))
    begin = time.monotonic()
    if state == "loading":
        one.until(lambda x: isinstance(x, m.Loading))

        assert one.worker.close(20)
    else:
        assert one.worker.close(2)
        assert time.monotonic() - begin < 1.5
    assert not one.worker.alive


def test_the_bell_rings_once_for_many_messages(desk):
    one = desk()
    one.post(m.SetRunning, True)
    time.sleep(0.3)
    assert one.rings == 1  # nobody took the messages: no second signal waits in the window's queue
    assert len(one.worker.take()) > 5
    one.post(m.Say, "again")
    one.until(lambda x: isinstance(x, m.Acknowledged))
    assert one.rings >= 2


def test_an_empty_timeline_still_shows_a_world(desk):
    one = desk(timeline=Timeline())
    running(one)


def test_a_restart_with_settings_that_the_model_refuses_is_a_failure_that_can_be_mended(desk):
    one = running(desk())
    one.script.refuse = UserError("This model has no HSA parameters: choose dense attention.")
    one.epoch = 1
    one.post(m.Restart, ONE, EngineConfig())
    failed = one.until(lambda x: isinstance(x, m.Failed))
    assert (failed.epoch, failed.sentence) == (1, "This model has no HSA parameters: choose dense attention.")
    one.script.refuse = None
    one.epoch = 2
    one.post(m.Restart, ONE, with_choices(EngineConfig(), attention="dense"))
    one.post(m.SetRunning, True)
    assert one.block(0, epoch=2).telemetry.attention == "dense"


def test_a_first_block_of_nine_frames_is_counted_as_such(desk):
    one = desk()
    one.until(lambda x: isinstance(x, m.Ready))
    wan = replace(one.worker._director._engine.geometry, first_block_frames=9)
    one.worker._director._engine.geometry = wan
    one.post(m.SetRunning, True)
    assert one.until(lambda x: isinstance(x, m.Begun)).locked_seconds == 9 / 16
    said = one.answer(one.post(m.Say, "later"))
    assert said.seconds == wan.block_seconds(said.block)


def test_an_export_that_a_restart_overtakes_is_told_as_cancelled(desk):
    hold = threading.Event()
    one = desk(hold=hold)
    one.post(m.SetRunning, True)
    one.until(lambda x: isinstance(x, m.Begun))  # the worker is in a step: the export waits in its queue
    one.post(m.Export, ExportJob(Path("never.mp4"), 400, "a title"))
    one.epoch = 1
    one.post(m.Restart, ONE, EngineConfig())
    done = one.until(lambda x: isinstance(x, m.ExportDone))
    assert (done.cancelled, done.frames) == (True, 0)


def test_a_late_cancel_does_not_reach_the_next_export(desk, tmp_path):
    one = running(desk())
    one.worker.cancel_export()  # of an export that is over
    target = tmp_path / "x.mp4"
    one.post(m.Export, ExportJob(target, 4, "a title"))
    done = one.until(lambda x: isinstance(x, m.ExportDone), seconds=30)
    assert (done.cancelled, done.failure) == (False, None)
    assert target.exists()


def test_a_prompt_typed_into_a_failed_world_is_refused(desk):
    one = running(desk(fail_at={1: UserError("Do this instead.")}))
    one.until(lambda x: isinstance(x, m.Failed))
    assert "restart it" in one.answer(one.post(m.Say, "hello")).refused
