"""The doctor: it finds what is wrong, and is not fooled by what looks right."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib import resources

import pytest
import torch
from safetensors.torch import save_file

from worldattention.app.cli import main
from worldattention.core import doctor, doctor_qt
from worldattention.core.config import EngineConfig
from worldattention.core.hkv.disk_io import DiskIO
from worldattention.core.hkv.page import PageData
from worldattention.core.hkv.store import TieredStore
from worldattention.kernels import ops

QT_OK = [("Qt", "ok", "6 loads")]


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    for part, size in (("transformer", 10), ("autoencoder", 3)):
        (folder / part).mkdir(parents=True)
        (folder / part / "config.json").write_text(json.dumps({"_class_name": part.title()}))
        save_file({"w": torch.ones(size), "b": torch.zeros(2)}, folder / part / "model.safetensors")
    return folder


@pytest.fixture(autouse=True)
def no_qt_child(monkeypatch):
    monkeypatch.setattr(doctor, "examine_qt", lambda: QT_OK)


def examine(model, device="cpu", config=None):
    return doctor.examine(str(model), device, config or EngineConfig())


def find(findings, area, name):
    return next(finding for finding in findings if (finding.area, finding.name) == (area, name))


def test_a_sound_machine_has_no_failure(model):
    findings = examine(model)
    assert not [finding for finding in findings if finding.status == "failed"]
    assert find(findings, "model", "transformer").text.startswith(
        "Transformer, 0.0 M parameters in 2 tensors"
    )
    assert find(findings, "device", "cuda").status in ("note", "ok")
    assert {choice.op for choice in ops.explain("cpu")} <= {finding.name for finding in findings}
    for tier in ("device", "dram", "disk"):
        assert find(findings, "memory", f"{tier} self-test").text == "a page came back bit for bit"


def test_case_10_a_page_goes_through_all_tiers_and_back(model, monkeypatch):
    """A tier that is never used is noticed here: each says how long its moves took."""
    text = find(examine(model), "memory", "through all tiers").text
    assert "bit for bit" in text
    assert all(f"{tier} write" in text for tier in ("device", "dram", "disk"))
    assert "disk read" in text
    real = DiskIO.read

    def flip(self, descriptor, part):
        count = real(self, descriptor, part)
        part[:1] = bytes([part[0] ^ 1])
        return count

    monkeypatch.setattr(DiskIO, "read", flip)
    broken = find(examine(model), "memory", "through all tiers")
    assert (broken.status, broken.text) == ("failed", "the page that was written could not be read back")


def test_truncated_and_missing_weights_fail(model):
    weights = model / "autoencoder" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    broken = find(examine(model), "model", str(model))
    assert broken.status == "ok"  # the folder itself is there
    failed = [finding for finding in examine(model) if finding.status == "failed"]
    assert len(failed) == 1
    assert str(weights) in failed[0].text
    weights.unlink()
    assert "no .safetensors" in next(finding for finding in examine(model) if finding.status == "failed").text
    assert find(examine(model / "none"), "model", str(model / "none")).status == "failed"


def test_a_tier_that_changes_bits_is_found(model, monkeypatch):
    real = TieredStore.acquire

    def flip(self, handles):
        pages = real(self, handles)
        return [PageData(page.info, page.keys + 1, page.values) for page in pages if page is not None]

    monkeypatch.setattr(TieredStore, "acquire", flip)
    assert find(examine(model), "memory", "dram self-test").text == "a page came back changed"


def test_a_tier_that_loses_or_refuses_pages_is_found(model, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("x")
    config = EngineConfig(cache=replace(EngineConfig().cache, folder=tmp_path / "file"))
    assert find(examine(model, config=config), "memory", "disk self-test").status == "warning"
    monkeypatch.setattr(TieredStore, "acquire", lambda self, handles: [None for _ in handles])
    assert "could not be read" in find(examine(model), "memory", "device self-test").text


def test_worlds_can_be_made_without_a_cache_folder(model, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["doctor", "--model", str(model), "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  ! disk") and "the world goes on without it" in line for line in lines)
    assert not any("--dram-quota" in line for line in lines)
    assert lines[-1].startswith("Worlds can be made here")
    assert "where ! stands" in lines[-1]


@pytest.mark.parametrize(("cores", "said"), [(1, ", 1 core to use"), (3, ", 3 cores to use")])
def test_cores_are_counted(monkeypatch, cores, said):
    monkeypatch.setattr(doctor.os, "sched_getaffinity", lambda _process: set(range(cores)), raising=False)
    assert said in find(doctor._device("cpu")[1], "device", "processor").text


def test_a_wrong_kernel_is_found(model, monkeypatch):
    real = ops.sparse_attention
    monkeypatch.setattr(ops, "sparse_attention", lambda *arguments: 1.02 * real(*arguments))
    assert find(examine(model), "kernels", "self-test").status == "failed"


def test_missing_parts_are_warnings_not_failures(model, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere")
    assert find(examine(model), "video", "ffmpeg").status == "warning"
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/bin/false")
    assert "does not run" in find(examine(model), "video", "ffmpeg").text


@pytest.mark.parametrize("device", ["cuda", "tpu"])
def test_a_device_that_is_not_there_fails_and_the_rest_is_still_said(model, monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    findings = examine(model, device)
    assert find(findings, "device", f"--device {device}").status == "failed"
    assert find(findings, "memory", "device self-test").status == "ok"


def test_the_command_reports_and_fails_in_one_sentence(model, capsys):
    assert main(["doctor", "--model", str(model), "--device", "cpu", "--json"]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["ok"] is True
    assert {finding["area"] for finding in report["findings"]} >= {
        "device",
        "kernels",
        "model",
        "memory",
        "video",
    }
    assert main(["doctor", "--model", str(model), "--device", "cpu"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Worlds can be made here, on cpu in ")
    assert main(["doctor", "--model", str(model / "none"), "--device", "cpu"]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("(+ works")
    assert "  x " in captured.out
    assert len(captured.err.strip().splitlines()) == 1
    assert "until this is repaired: model" in captured.err


def test_every_debian_package_is_probed():
    text = (resources.files("worldattention") / "debian-packages.txt").read_text(encoding="utf-8")
    listed = {word for line in text.splitlines() for word in line.partition("#")[0].split()}
    assert {*doctor_qt.LIBRARIES.values(), doctor_qt.FONT_PACKAGE} == listed


def test_missing_libraries_are_named_by_package(monkeypatch):
    monkeypatch.setattr(doctor_qt, "LIBRARIES", {"libc.so.6": "libc6", "libnowhere.so.9": "libnowhere9"})
    monkeypatch.setattr(sys, "platform", "linux")
    name, status, text = doctor_qt.examine_qt()[1]
    assert (name, status) == ("libraries", "warning")
    assert "libnowhere9" in text
    assert "libc6" not in text


def test_a_qt_that_crashes_or_is_not_there_is_a_warning(tmp_path, monkeypatch):
    crash = tmp_path / "python"
    crash.write_text("#!/bin/sh\necho 'could not load the Qt platform plugin' >&2\nkill -ABRT $$\n")
    crash.chmod(0o755)
    [(name, status, text)] = doctor_qt.examine_qt(str(crash))
    assert (name, status) == ("Qt", "warning")
    assert "platform plugin" in text
    assert doctor_qt.examine_qt(str(tmp_path / "none"))[0][1] == "warning"


def test_headless_commands_do_not_import_qt(model, tmp_path):
    script = (
        "import sys\nfrom worldattention.app.cli import main\n"
        "from worldattention.core import doctor\n"
        "main(['doctor', '--model', sys.argv[1]])\n"
        "from worldattention.app.commandline import bench, doctor, eval, load, render, train\n"
        "from worldattention.core import loading, render, session\n"
        "from worldattention.core.evaluation import attention_samples, pocket_reader, recall\n"
        "from worldattention.core.pocket.training import recipe\n"
        "found = {name.partition('.')[0] for name in sys.modules} & {'PySide6', 'shiboken6', 'pyqtgraph'}\n"
        "sys.exit(str(found) if found else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(model)], capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stderr
