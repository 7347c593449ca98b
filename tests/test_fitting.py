"""case_5, case_6: a device that is full gets a smaller window once, and a sentence with bytes; then it works again."""

import pytest
import torch

from tests.toy import toy_config, toy_model
from worldattention.core import memory
from worldattention.core.errors import UserError
from worldattention.core.fitting import fitting_engine, warm_up, window_bytes


@pytest.fixture
def room(monkeypatch):
    """A device that holds a limited number of window slots."""
    limit = [1000]
    real = memory.Window

    def window(shape, budget_frames, block_frames, table, device="cpu"):
        if budget_frames + block_frames > limit[0]:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.20 GiB.")
        return real(shape, budget_frames, block_frames, table, device)

    monkeypatch.setattr(memory, "Window", window)
    return limit


def test_what_fits_is_left_alone(room):
    engine = fitting_engine(toy_model(), toy_config())
    assert engine.config == toy_config()
    assert engine.step("a red ball").telemetry.notices == ()
    engine.close()


def test_a_smaller_window_is_tried_once_and_said(room):
    room[0] = 20
    model = toy_model()
    engine = fitting_engine(model, toy_config())
    notices = [
        engine.step(prompt).telemetry.notices
        for prompt in ["a red ball"] * 6 + ["a kite"] * 4 + ["the red ball"]
    ]
    assert "smaller" in notices[0][0]
    assert not any(notices[1:])
    assert engine.config.cache.budget_frames == 16
    engine.close()
    room[0] = 1000
    again = fitting_engine(model, toy_config())
    assert again.config.cache.budget_frames == 32
    again.close()


def test_nothing_fits(room):
    room[0] = 4
    with pytest.raises(UserError, match=r"needs .*B, and .*B with half"):
        fitting_engine(toy_model(), toy_config())


def test_bytes_are_those_of_the_buffers():
    engine = fitting_engine(toy_model(), toy_config())
    assert window_bytes(engine.model, engine.config) == engine.memory.buffer_bytes
    engine.close()


def test_warming_up_leaves_nothing_behind(tmp_path):
    """case_31: what is compiled is compiled while the stage is shown; the real world does not know of it."""
    model, config = toy_model(), toy_config(folder=tmp_path)
    warmed, fresh = fitting_engine(model, config), fitting_engine(toy_model(), toy_config())
    shares = []
    warm_up(warmed, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert not list(tmp_path.rglob("*.page"))
    assert not warmed.bank.pages
    assert (warmed.step("a red ball").frames == fresh.step("a red ball").frames).all()
    assert warmed.epoch == fresh.epoch == 0
    warmed.close()
    fresh.close()
