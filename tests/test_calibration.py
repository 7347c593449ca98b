"""HSA warm-up from a model's own dense attention: it learns, saves, and what is saved is used."""

import json

import pytest
import torch

from tests.toy import toy_engine
from tests.wan_folder import save_wan_folder
from worldattention.app.cli import main
from worldattention.core.calibration import calibrate, save_parameters
from worldattention.core.config import EngineConfig
from worldattention.core.errors import Cancelled
from worldattention.core.loading import open_engine
from worldattention.core.models.weight_files import HSA_FILE


def test_the_error_shrinks_in_every_layer():
    engine = toy_engine()
    seen = []
    done = calibrate(engine, 10, 1, fresh=True, progress=lambda *now: seen.append(now))
    assert len(done.before) == len(done.after) == 4
    for before, after in zip(done.before, done.after, strict=True):
        assert after < before
    assert 0 < done.density <= 1
    assert seen[-1] == (12, 12, "done")
    assert engine.attention_observer is None
    start = calibrate(toy_engine(), 1, 1, fresh=False)
    assert start.before != done.before  # from the model's own parameters


def test_cancelling_stops_it():
    with pytest.raises(Cancelled):
        calibrate(toy_engine(), 4, 2, cancel=lambda: True)


def test_saved_parameters_make_a_model_hybrid(tmp_path, capsys):
    folder = save_wan_folder(tmp_path / "model", hsa=False)
    out = folder / "transformer" / HSA_FILE
    assert (
        main(
            [
                "calibrate",
                str(folder),
                "-o",
                str(out),
                "--blocks",
                "2",
                "--held-out",
                "1",
                "--device",
                "cpu",
                "--json",
            ]
        )
        == 0
    )
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(result["before"]) == len(result["after"]) == 3
    engine = open_engine(str(folder), "cpu", EngineConfig())
    assert engine.step("rain").telemetry.attention == "hsa"
    assert not any(layer.joint for layer in engine.model.hsa), "fitted to weights that do not expect it"
    engine.close()


def test_saved_parameters_replace_those_of_the_weights(tmp_path):
    folder = save_wan_folder(tmp_path / "model")
    engine = open_engine(str(folder), "cpu", EngineConfig())
    own = [layer.float() for layer in engine.model.hsa]
    for layer in own:
        torch.nn.init.normal_(layer.gate.weight)
    save_parameters(tuple(own), folder / "transformer" / HSA_FILE)
    again = open_engine(str(folder), "cpu", EngineConfig())
    for mine, read in zip(own, again.model.hsa, strict=True):
        torch.testing.assert_close(read.gate.weight.float(), mine.gate.weight, atol=1e-2, rtol=1e-2)
    assert again.model.fingerprint != engine.model.fingerprint
    assert all(layer.joint for layer in (*engine.model.hsa, *again.model.hsa)), "these weights expect theirs"
    engine.close()
    again.close()
