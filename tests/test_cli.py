"""The command line: every bad input in one sentence, exit codes, what is left behind, and what is imported."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.fakes_cli import FakeEngine, failure, tree
from worldattention.app import cli
from worldattention.app.cli import main
from worldattention.app.commandline.options import Options, size
from worldattention.core import loading
from worldattention.core.config import preset_config
from worldattention.core.errors import Cancelled
from worldattention.core.project import ProjectSettings
from worldattention.core.telemetry_lines import records_of

RUN = [sys.executable, "-m", "worldattention.app.cli"]


def test_render_makes_the_video_and_says_so_in_json(toy, world, capsys):
    out, log = world.parent / "v.mp4", world.parent / "t.jsonl"
    command = ["render", str(world), "-o", str(out), "--telemetry", str(log), "--json"]
    assert main([*command, "--attention", "sparse", "--retrieval", "recent"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out.splitlines()[-1])
    assert result["frames"] == 56
    assert result["seconds"] == 3.5
    assert set(result) >= {"frames", "fps", "seconds", "load_s", "first_block_ms", "device", "backend"}
    assert 0 < result["density"] <= 1
    assert set(result["bytes"]) >= {"device", "dram"}
    records = list(records_of(log.read_text(encoding="utf-8").splitlines()))
    assert len(records) == 5
    assert {(record.attention, record.retrieval, record.seed) for record in records} == {
        ("sparse", "recent", 4)
    }
    assert out.stat().st_size > 1000
    assert tree(world.parent) == ["t.jsonl", "v.mp4", "w.world"]


def test_render_to_null_encodes_nothing_and_needs_no_ffmpeg(toy, world, capsys, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere")
    assert main(["render", str(world), "-o", "null", "--seconds", "0,5"]) == 0
    assert "8 frames (0.50 s)" in capsys.readouterr().out
    assert tree(world.parent) == ["w.world"]


@pytest.mark.parametrize(("seconds", "told"), [(0.5, False), (6.5625, True)])
def test_slow_machines_are_told_when_it_is_more_than_the_warm_up(monkeypatch, world, capsys, seconds, told):
    clock = [100.0]
    monkeypatch.setattr("worldattention.core.render.time.perf_counter", lambda: clock[0])

    def wait(block):
        clock[0] += 1.0 if block else 50.0

    engine = FakeEngine(on_step=wait)
    monkeypatch.setattr(loading, "open_engine", lambda *arguments: engine)
    assert main(["render", str(world), "-o", "null", "--seconds", str(seconds)]) == 0
    printed = capsys.readouterr().err
    assert ("slower than real time" in printed) == told
    assert ("This machine made 12.0 frames a second" in printed) == told
    assert engine.closed


@pytest.mark.parametrize("stop", [KeyboardInterrupt, Cancelled])
def test_a_stopped_render_leaves_nothing(monkeypatch, world, capsys, stop):
    def interrupt(block):
        if block == 2:
            raise stop

    engine = FakeEngine(on_step=interrupt)
    monkeypatch.setattr(loading, "open_engine", lambda *arguments: engine)
    assert main(["render", str(world), "-o", str(world.parent / "v.mp4")]) == 1
    assert "Stopped" in capsys.readouterr().err
    assert tree(world.parent) == ["w.world"]
    assert engine.closed


def test_ctrl_c_while_loading_stops_at_once(monkeypatch, world, capsys):
    reached = []

    def load(*arguments):
        signal.raise_signal(signal.SIGINT)
        reached.append("the end")

    monkeypatch.setattr(loading, "open_engine", load)
    assert main(["render", str(world), "-o", str(world.parent / "v.mp4")]) == 1
    assert not reached
    assert "Stopped" in capsys.readouterr().err
    assert tree(world.parent) == ["w.world"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_within_one_denoising_step(monkeypatch, world, capsys, number):
    engine = FakeEngine(on_step=lambda block: os.kill(os.getpid(), number) if block == 1 else None)
    monkeypatch.setattr(loading, "open_engine", lambda *arguments: engine)
    before = signal.getsignal(number)
    assert main(["render", str(world), "-o", str(world.parent / "v.mp4")]) == 1
    assert engine.denoise_steps == 5
    assert "Stopped" in capsys.readouterr().err
    assert tree(world.parent) == ["w.world"]
    assert signal.getsignal(number) == before


def test_an_unexpected_error_is_one_sentence_and_debug_shows_where(monkeypatch, world, capsys):
    def fail(block):
        raise RuntimeError("tensor\nsizes")

    monkeypatch.setattr(loading, "open_engine", lambda *arguments: FakeEngine(on_step=fail))
    assert main(["render", str(world), "-o", "null"]) == 1
    assert "Traceback" not in (text := capsys.readouterr().err)
    assert "--debug" in text
    assert main(["render", str(world), "-o", "null", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_progress_without_a_terminal_is_a_line_every_tenth(monkeypatch, world, capsys):
    monkeypatch.setattr(loading, "open_engine", lambda *arguments: FakeEngine())
    assert main(["render", str(world), "-o", "null", "--seconds", "100"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Render: ")]
    assert 10 <= len(lines) <= 11
    assert lines[-1].startswith("Render: 1600 of 1600 frames, ")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."),
        RuntimeError("unable to mmap 34177632 bytes from file <vocab.txt>: Cannot allocate memory (12)"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_out_of_memory_is_said_plainly(monkeypatch, world, capsys, error):
    def fail(block):
        raise error

    monkeypatch.setattr(loading, "open_engine", lambda *arguments: FakeEngine(on_step=fail))
    assert main(["render", str(world), "-o", "null"]) == 1
    assert "not enough memory" in capsys.readouterr().err


USAGE = [
    ["render"],
    ["render", "x.world"],
    ["render", "x.world", "-o"],
    ["render", "x.world", "-o", "null", "--attention", "magic"],
    ["render", "x.world", "-o", "null", "--retrieval", ""],
    ["render", "x.world", "-o", "null", "--preset", "Authors"],
    ["render", "x.world", "-o", "null", "--density", "0"],
    ["render", "x.world", "-o", "null", "--density", "1.5"],
    ["render", "x.world", "-o", "null", "--density", "nan"],
    ["render", "x.world", "-o", "null", "--seed", "-1"],
    ["render", "x.world", "-o", "null", "--seed", "1.5"],
    ["render", "x.world", "-o", "null", "--seed", "9" * 40],
    ["render", "x.world", "-o", "null", "--seconds", "nan"],
    ["render", "x.world", "-o", "null", "--seconds", "inf"],
    ["render", "x.world", "-o", "null", "--seconds", "-3"],
    ["render", "x.world", "-o", "null", "--seconds", "0"],
    ["render", "x.world", "-o", "null", "--seconds", "ten"],
    ["render", "x.world", "-o", "null", "--dram-quota", "lots"],
    ["render", "x.world", "-o", "null", "--disk-quota", "-1G"],
    ["render", "x.world", "-o", "null", "--disk-quota", "9" * 15 + "T"],
    ["render", "x.world", "-o", "null", "--unknown"],
    ["render", "x.world", "-o", "null", "--sec", "3"],
    ["x.world", "y.world"],
    ["x.world", "--after-blocks", "0"],
    ["x.world", "--size", "1920"],
    ["x.world", "--size", "19x10"],
    ["--attention"],
    ["rendr", "x"],
    ["docter"],
    ["hello there"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_wrong_usage_is_one_sentence_and_exit_code_2(capsys, arguments):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1
    assert "--help" in captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["render", "x.world", "-o", ""], "the name is empty"),
        (["render", "x.world", "-o", "null", "--save-world", ""], "--save-world: the name is empty"),
        (["calibrate", "pocket", "-o", ""], "the name is empty"),
        (["render", "x.world", "-o", "null", "--density", "0"], "'0' must be above 0 and at most 1"),
    ],
)
def test_wrong_usage_is_said_in_plain_words(capsys, arguments, words):
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"), [("rendr", "render"), ("docter", "doctor"), ("trian", "train"), ("evaluate", "eval")]
)
def test_a_mistyped_command_is_no_project(capsys, typed, meant):
    assert main([typed, "x"]) == 2
    assert f"did you mean '{meant}'?" in capsys.readouterr().err
    for project in (f"./{typed}", f"{typed}.world"):
        assert main([project]) == 1
        assert "no such file" in capsys.readouterr().err


def test_the_process_ends_without_freeing_object_by_object():
    """With a model loaded, that took longer than closing the window."""
    code = (
        "import atexit, gc; from worldattention.app import cli;"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000)); cli.main(['--version'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.splitlines()[-1] == "True"


def test_options_overrule_the_project():
    settings = ProjectSettings("authors", "dense", "recent", 0.5, 9)
    kept = Options().engine_config(settings)
    assert (kept.preset, kept.attention.mode, kept.cache.retrieval) == ("authors", "dense", "recent")
    assert (kept.attention.density, kept.seed) == (0.5, 9)
    assert kept.cache.recalled_pages == preset_config("authors").cache.recalled_pages
    changed = Options(
        preset="playground", attention="linear", retrieval="none", density=0.25, seed=0, dram_quota_bytes=5
    ).engine_config(settings)
    assert (changed.preset, changed.attention.mode, changed.cache.retrieval) == (
        "playground",
        "linear",
        "none",
    )
    assert (changed.attention.density, changed.seed, changed.cache.dram_quota_bytes) == (0.25, 0, 5)
    assert changed.cache.disk_quota_bytes == preset_config("playground").cache.disk_quota_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1500", 1500),
        ("2k", 2000),
        ("500M", 5 * 10**8),
        ("1.5GiB", 3 << 29),
        ("1,5 gb", 1_500_000_000),
    ],
)
def test_sizes(text, expected):
    assert size(text) == expected


def test_no_display_points_at_render(world, capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    sentence = failure(capsys, [world])
    assert "no display" in sentence
    assert "worldattention render" in sentence


@pytest.mark.parametrize("missing", ["PySide6", "PySide6.QtCore", "pyqtgraph"])
def test_a_window_without_its_toolkit_points_at_doctor_and_render(world, missing):
    script = (
        "import sys\nsys.modules[sys.argv[1]] = None\nfrom worldattention.app.cli import main\n"
        "sys.exit(main([sys.argv[2], '--screenshot', sys.argv[3]]))"
    )
    command = [sys.executable, "-c", script, missing, world, world.parent / "s.png"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "worldattention doctor" in done.stderr
    assert "worldattention render" in done.stderr
    assert tree(world.parent) == ["w.world"]


@pytest.mark.parametrize("target", ["s.jpg", "missing/s.png", "folder.png"])
def test_bad_screenshots(world, capsys, target):
    (world.parent / "folder.png").mkdir()
    failure(capsys, [world, "--screenshot", world.parent / target])
    assert tree(world.parent) == ["folder.png", "w.world"]


def run(*arguments, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *map(str, arguments)], capture_output=True, text=True, timeout=100, check=False, **options
    )


@pytest.mark.parametrize("command", ["", *cli.COMMANDS])
def test_help_begins_with_a_line_of_usage_and_explains_every_option(capsys, command):
    assert main([*command.split(), "--help"]) == 0
    usage = capsys.readouterr().out.partition("\n\n")[0]
    assert len(usage) < 130
    assert f"worldattention {command}".strip() in usage
    parser = cli._command_parser(command) if command else cli._window_parser()
    cli._module(command or "window").add_arguments(parser)
    assert len(parser._actions) >= 20
    assert [action.dest for action in parser._actions if len((action.help or "").split()) < 3] == []


def test_version_and_help_in_a_process():
    done = run("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"worldattention \d+\.\d+\.\d+\n", done.stdout)
    assert "render" in run("--help").stdout


def test_start_up_imports_nothing_heavy():
    """What would make `--help` slow: checked by name, since timings on busy machines tell nothing."""
    script = (
        "import sys\nfrom worldattention.app.cli import main\n"
        "main(['--help']); main(['render', '--help']); main(['render', 'x', '-o', 'null', '--seed', 'x'])\n"
        "heavy = {'torch', 'numpy', 'pydantic', 'PySide6', 'diffusers', 'transformers'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_traceback():
    done = subprocess.run(
        ["bash", "-c", f'"{RUN[0]}" -m {RUN[2]} --help | true; echo "${{PIPESTATUS[0]}}"'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "1")


def test_closed_output_streams_are_no_traceback():
    done = subprocess.run(
        ["bash", "-c", f'"{RUN[0]}" -m {RUN[2]} nothing.world >&- 2>&-'], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_undecodable_names_are_one_sentence(tmp_path):
    done = subprocess.run(
        [*map(str.encode, RUN), b"render", b"\xff\xfe.world", b"-o", b"null"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"no such file" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_project_is_never_written_over(world, capsys):
    before = world.read_bytes()
    assert "is the project itself" in failure(capsys, ["render", world, "-o", "null", "--telemetry", world])
    assert world.read_bytes() == before


def test_names_from_files_cannot_command_the_terminal(tmp_path, capsys):
    path = tmp_path / "odd\x1b[2J\nname.world"
    assert "\x1b" not in failure(capsys, ["render", path, "-o", "null"])
