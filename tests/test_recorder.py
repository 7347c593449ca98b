"""The recorder: what is in the file, that it is whole or absent, and what a crash leaves."""

import os
import re
import signal
import stat
import subprocess
import threading

import numpy as np
import pytest

from worldattention.core.errors import UserError
from worldattention.core.recorder import Encoder, Recording, check_video_target, find_ffmpeg, video_writer


def noise(frames: int, height: int, width: int) -> np.ndarray:
    """Smooth moving colours, which survive compression."""
    t, y, x = np.mgrid[0:frames, 0:height, 0:width]
    return np.stack([(5 * t + 2 * y) % 256, (x * 3) % 256, np.full_like(x, 90)], axis=-1).astype(np.uint8)


def decode(path, height: int, width: int) -> np.ndarray:
    command = [find_ffmpeg(), "-v", "error", "-i", f"file:{path}", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)


def describe(path) -> str:
    done = subprocess.run([find_ffmpeg(), "-i", f"file:{path}"], capture_output=True, check=False)
    return done.stderr.decode()


def metadata(path) -> str:
    command = [find_ffmpeg(), "-v", "error", "-i", f"file:{path}", "-f", "ffmetadata", "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def write(path, frames, **options) -> None:
    with video_writer(path, *frames.shape[1:3], **options) as encoder:
        encoder.write(frames)


def boxes(path) -> list[str]:
    data, names, at = path.read_bytes(), [], 0
    while at < len(data):
        names.append(data[at + 4 : at + 8].decode())
        at += int.from_bytes(data[at : at + 4], "big")
    return names


def test_video_has_the_frames_the_rate_and_the_colours(tmp_path):
    frames = noise(40, 64, 96)
    path = tmp_path / "한글 폴더 ñ" / "-a:b %d.MP4"
    path.parent.mkdir()
    write(path, frames, title="Töpfe & Bälle")
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    back = decode(path, 64, 96)
    assert back.shape == frames.shape
    assert np.abs(back.astype(int) - frames).mean() < 6
    text = describe(path)
    assert re.search(r"h264 .*yuv420p\(tv, bt709", text)
    assert "16 fps" in text
    assert "Duration: 00:00:02.50" in text
    assert "Töpfe & Bälle" in text
    assert boxes(path).index("moov") < boxes(path).index("mdat")


@pytest.mark.parametrize(("height", "width"), [(33, 47), (32, 47), (33, 48), (1, 1)])
def test_odd_sizes_are_padded_by_the_edge_and_never_scaled(tmp_path, height, width):
    frames = noise(3, height, width)
    write(tmp_path / "odd.mp4", frames)
    back = decode(tmp_path / "odd.mp4", height + height % 2, width + width % 2)
    assert len(back) == 3
    assert np.abs(back[:, :height, :width].astype(int) - frames).mean() < 12


def test_long_and_awkward_metadata_survive(tmp_path):
    title = "line\nbreak = a;b#c\\d 🎈 שלום"
    comment = "prompt " * 200_000
    write(tmp_path / "long.mp4", noise(2, 16, 16), title=title, comment=comment)
    text = metadata(tmp_path / "long.mp4")
    assert len(text) > len(comment)
    assert "\\=" in text
    assert "🎈 שלום" in text
    assert decode(tmp_path / "long.mp4", 16, 16).shape[0] == 2


def test_failure_leaves_nothing_and_keeps_the_old_video(tmp_path):
    path = tmp_path / "video.mp4"
    path.write_bytes(b"old")

    def stopped() -> None:
        with video_writer(path, 16, 16) as encoder:
            encoder.write(noise(5, 16, 16))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["video.mp4"]


def test_permissions_of_the_old_video_are_kept(tmp_path):
    path = tmp_path / "video.mp4"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write(path, noise(2, 16, 16))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes() != b"old"


def test_a_dying_ffmpeg_is_one_sentence(tmp_path, monkeypatch):
    fake = tmp_path / "ffmpeg"
    fake.write_text("#!/bin/sh\necho 'x: No space left on device' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(fake))
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(UserError, match=r"out/v\.mp4' could not be written: the disk is full"):
        write(out / "v.mp4", np.zeros((2400, 64, 64, 3), np.uint8))
    assert os.listdir(out) == []


@pytest.mark.parametrize("value", ["/nowhere/ffmpeg", "/etc/passwd"])
def test_missing_ffmpeg_is_one_sentence(tmp_path, monkeypatch, value):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", value)
    with pytest.raises(UserError, match="no ffmpeg"):
        check_video_target(tmp_path / "v.mp4")
    with pytest.raises(UserError, match="no ffmpeg"):
        Recording(tmp_path / "v.mp4", 16, 16)
    assert os.listdir(tmp_path) == []


def test_no_ffmpeg_anywhere_is_one_sentence(tmp_path, monkeypatch):
    import imageio_ffmpeg

    def missing() -> str:
        raise RuntimeError("No ffmpeg exe could be found.")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", missing)
    with pytest.raises(UserError, match="no ffmpeg"):
        check_video_target(tmp_path / "v.mp4")


def test_bad_targets_are_refused_and_leave_nothing(tmp_path):
    (tmp_path / "folder.mp4").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "locked.mp4").write_text("x")
    (tmp_path / "locked.mp4").chmod(0o444)
    before = sorted(os.listdir(tmp_path))
    for name, message in [
        ("v.avi", "end its name"),
        ("video", "end its name"),
        ("folder.mp4", "is a folder"),
        ("locked.mp4", "read-only"),
        ("missing/v.mp4", "no folder"),
        ("file/v.mp4", "a file, not a folder"),
        ("x" * 300 + ".mp4", "too long"),
        ("nul\0.mp4", "no file name"),
    ]:
        with pytest.raises(UserError, match=message):
            check_video_target(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == before


def test_recording_becomes_an_ordinary_video(tmp_path):
    path = tmp_path / "rec.mp4"
    recording = Recording(path, 33, 47, title="T", comment="C")
    assert not path.exists()
    for _ in range(3):
        recording.write(noise(12, 33, 47))
    recording.close()
    assert os.listdir(tmp_path) == ["rec.mp4"]
    assert len(decode(path, 34, 48)) == 36
    assert "moof" not in boxes(path)
    assert "title=T" in metadata(path)


def test_recording_survives_a_kill_of_ffmpeg(tmp_path):
    recording = Recording(tmp_path / "rec.mp4", 64, 64)
    for _ in range(14):
        recording.write(noise(12, 64, 64))
    partial = recording.partial
    deadline = 100
    while deadline and len(decode_quietly(partial)) < 150 * 64 * 64 * 3:
        deadline -= 1
        signal.sigtimedwait([], 0.05)
    os.kill(recording._encoder._process.pid, signal.SIGKILL)
    recording._encoder._process.wait()
    assert len(decode(partial, 64, 64)) >= 168 - 16
    with pytest.raises(UserError):
        recording.close()
    assert partial.exists()
    recording.abort()
    assert os.listdir(tmp_path) == []


def test_case_20_a_recording_loses_no_more_than_a_second_to_a_kill_however_far_behind_ffmpeg_is(tmp_path):
    recording = Recording(tmp_path / "rec.mp4", 128, 256)
    ffmpeg = recording._encoder._process
    frames = noise(300, 128, 256)
    recording.write(frames[:5])
    ended = []

    def write():
        try:
            for start in range(5, 300, 7):
                recording.write(frames[start : start + 7])
        except UserError as error:
            ended.append(error)

    os.kill(ffmpeg.pid, signal.SIGSTOP)
    writer = threading.Thread(target=write)
    writer.start()
    writer.join(0.5)
    assert writer.is_alive()  # it waits: ffmpeg takes nothing, so nothing more may be called recorded
    assert recording.frames <= 16
    for _ in range(3):
        os.kill(ffmpeg.pid, signal.SIGCONT)
        signal.sigtimedwait([], 0.01)
        os.kill(ffmpeg.pid, signal.SIGSTOP)
        written = recording.frames
        assert len(decode_quietly(recording.partial)) // (128 * 256 * 3) >= written - 16
    os.kill(ffmpeg.pid, signal.SIGKILL)
    writer.join(20)
    assert not writer.is_alive()
    assert len(ended) == 1
    assert len(decode(recording.partial, 128, 256)) >= recording.frames - 16
    recording.abort()
    assert os.listdir(tmp_path) == []


def decode_quietly(path) -> bytes:
    command = [find_ffmpeg(), "-v", "quiet", "-i", f"file:{path}", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    return subprocess.run(command, capture_output=True, check=False).stdout


def test_an_earlier_crash_is_not_overwritten(tmp_path):
    (tmp_path / "rec.recording.mp4").write_bytes(b"precious")
    recording = Recording(tmp_path / "rec.mp4", 16, 16)
    recording.write(noise(1, 16, 16))
    recording.close()
    assert (tmp_path / "rec.recording.mp4").read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["rec.mp4", "rec.recording.mp4"]


def test_empty_recording_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match="Nothing was recorded"):
        Recording(tmp_path / "rec.mp4", 16, 16).close()
    assert os.listdir(tmp_path) == []


def test_wrong_frames_are_a_programming_error(tmp_path):
    encoder = Encoder(tmp_path / "v.mp4", 16, 16)
    try:
        with pytest.raises(ValueError, match="not uint8"):
            encoder.write(noise(1, 16, 18))
    finally:
        encoder.abort()
