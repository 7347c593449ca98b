"""What a typed prompt would recall: asked between denoising steps, answered for the newest text only."""

import threading
import time
from types import SimpleNamespace

from tests.fakes_window import FakeChunk, FakeEngine, FakePage, FakePreview, FakeSession, Script, opener
from worldattention.app import messages as m
from worldattention.app.recalls import foreseen_of
from worldattention.app.reel import Reel
from worldattention.app.worker import Worker
from worldattention.core.config import EngineConfig
from worldattention.core.timeline import Event, make_timeline

TWO = make_timeline([Event(1, 0, 1.5, "a red house"), Event(2, 1.5, 60, "a green hill")])


class Desk:
    def __init__(self, **script):
        self.script = Script(**{"step_s": 0.002, "load_s": 0.004, **script})
        self.heard, self.reel = [], Reel()
        self.worker = Worker(opener(self.script), FakeSession, self.reel, lambda: None, EngineConfig(), TWO)
        self.worker.start()
        self.worker.post(m.SetRunning(self.worker.new_id(), 0, True))
        self.worker.played(10_000)

    def until(self, kind, test=lambda _: True, seconds=20.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.heard += self.worker.take()
            for message in self.heard:
                if isinstance(message, kind) and test(message):
                    return message
            time.sleep(0.002)
        raise AssertionError(f"never heard among {self.heard[-5:]}")

    def close(self):
        if self.script.hold is not None:
            self.script.hold.set()
        assert self.worker.close()
        self.reel.close()

    def type(self, text, epoch=0):
        self.worker.post(m.Typing(self.worker.new_id(), epoch, text))


def test_a_typed_text_is_answered_while_a_block_is_being_made():
    desk = Desk()
    try:
        desk.until(m.Made, lambda one: one.telemetry.block == 4)
        desk.script.hold = threading.Event()  # the next block does not end
        begun = desk.until(m.Begun, lambda one: one.block > 4)
        desk.type("the red house again")
        answer = desk.until(m.WouldRecall)
        assert answer.text == "the red house again"
        assert answer.preview.chunks[0].prompt == "a red house"
        assert desk.script.prefetched[0] == answer.preview.chunks[0].pages[0].id
        assert not any(isinstance(x, m.Made) and x.telemetry.block == begun.block for x in desk.heard)
    finally:
        desk.close()


def test_a_prompt_is_understood_and_its_pages_are_read_while_the_block_before_it_is_made():
    desk = Desk()
    try:
        desk.until(m.Made, lambda one: one.telemetry.block == 4)
        desk.script.hold = threading.Event()  # the next block does not end
        begun = desk.until(m.Begun, lambda one: one.block > 4)
        desk.worker.post(m.Say(desk.worker.new_id(), 0, "the red house again"))
        answer = desk.until(m.WouldRecall)
        assert answer.text == "the red house again"
        assert answer.preview.chunks[0].pages[0].id in desk.script.prefetched
        desk.script.hold.set()
        made = desk.until(m.Made, lambda one: one.telemetry.prompt == "the red house again")
        assert made.telemetry.block == begun.block + 1
    finally:
        desk.close()


def test_only_the_newest_text_of_the_present_world_is_answered():
    desk = Desk(load_s=0.2)
    try:
        for text in ("a", "a r", "a re", "a red"):
            desk.type(text)
        desk.until(m.Made)
        desk.type("of another world", epoch=-1)
        desk.type("a red hill")
        assert desk.until(m.WouldRecall, lambda one: one.text == "a red hill")
        assert set(desk.script.previews) <= {"a red", "a red hill"}
    finally:
        desk.close()


def test_a_failed_preview_stops_no_world():
    desk = Desk(fail_preview=RuntimeError("no index"))
    try:
        desk.until(m.Made)
        desk.type("a red hill")
        made = desk.until(m.Made, lambda one: one.telemetry.block >= 6).telemetry.block
        desk.until(m.Made, lambda one: one.telemetry.block > made)
        assert not any(isinstance(message, m.Failed | m.WouldRecall) for message in desk.heard)
    finally:
        desk.close()


def test_a_text_of_another_world_is_answered_with_the_nearest_scene(monkeypatch):
    def understand(engine, text):
        return SimpleNamespace(known="house" in text, nearest="A man in a village.")

    monkeypatch.setattr(FakeEngine, "understand", understand, raising=False)
    desk = Desk()
    try:
        desk.until(m.Made, lambda one: one.telemetry.block == 2)
        for text, nearest in (("a red house", None), ("a dragon", "A man in a village."), ("  ", None)):
            desk.type(text)
            assert desk.until(m.WouldRecall, lambda one, text=text: one.text == text).nearest == nearest
    finally:
        desk.close()


def test_of_a_prompt_of_several_events_each_moment_says_which_it_is_for():
    chunks = [
        FakeChunk(0, 0.9, "a ball", (FakePage(0, 0, 8),), "throws a ball"),
        FakeChunk(1, 0.8, "torches at night", (FakePage(1, 8, 8),), "juggles torches"),
    ]
    preview = FakePreview("throws a ball, then juggles torches", tuple(chunks))
    model = SimpleNamespace(latent_seconds=lambda latent: latent / 4)
    ball, torches = foreseen_of(preview, model, lambda _frame: None)
    assert ball.prompt == "for “throws a ball”: a ball"
    assert torches.prompt == "for “juggles torches”: torches at night"
    one = FakePreview("a ball", (FakeChunk(0, 0.9, "a ball", (FakePage(0, 0, 8),)),))
    (alone,) = foreseen_of(one, model, lambda _frame: None)
    assert alone.prompt == "a ball"
