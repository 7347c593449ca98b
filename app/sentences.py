"""Sentences of the core in the language of the window.

The core knows no Qt: what it says arrives whole and in English. Here are its sentences with `{}` for what varies;
one that is not listed stays English.
"""

from __future__ import annotations

import re
from functools import lru_cache

from worldattention.app.texts import QT_TRANSLATE_NOOP, translate

SENTENCES = (
    QT_TRANSLATE_NOOP("Sentences", "The world stands still: restart it, then say what it shall show."),
    QT_TRANSLATE_NOOP("Sentences", "The world stands still: restart it first."),
    QT_TRANSLATE_NOOP("Sentences", "The world is not running: restart it, then export again."),
    QT_TRANSLATE_NOOP("Sentences", "There is nothing to export yet: play the world first."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The first frames are no longer kept: save the project and use `worldattention render`.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The world is not there yet: wait until it is, then record."),
    QT_TRANSLATE_NOOP("Sentences", "The world was restarted before this could take effect."),
    QT_TRANSLATE_NOOP("Sentences", "{} What was recorded until then is kept as '{}'."),
    QT_TRANSLATE_NOOP("Sentences", "There are only {} free there: give less than that."),
    QT_TRANSLATE_NOOP("Sentences", "This machine has {} of memory: give less than that."),
    QT_TRANSLATE_NOOP("Sentences", "Chosen by the program: {} are free there."),
    QT_TRANSLATE_NOOP("Sentences", "Chosen by the program: this machine has {} of memory."),
    QT_TRANSLATE_NOOP("Sentences", "{} of the {} that are free."),
    QT_TRANSLATE_NOOP("Sentences", "{} of {} of memory."),
    QT_TRANSLATE_NOOP("Sentences", "{} are free there."),
    QT_TRANSLATE_NOOP("Sentences", "Give the whole path of the folder, from / on."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is a file, not a folder: choose another."),
    QT_TRANSLATE_NOOP("Sentences", "Nothing can be written to '{}': choose another folder."),
    QT_TRANSLATE_NOOP("Sentences", "The settings hold until the end: they cannot be kept, as {}."),
    QT_TRANSLATE_NOOP("Sentences", "The settings could not be read, so the program's own are used."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The settings could not be read, so the program's own are used; the file is kept as '{}'.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The pocket world comes with the program."),
    QT_TRANSLATE_NOOP("Sentences", "Type pocket, or choose the folder of a model."),
    QT_TRANSLATE_NOOP("Sentences", "There is no folder '{}': choose one, or type pocket."),
    QT_TRANSLATE_NOOP("Sentences", "The folder has no sub-folder {}/: choose the folder of a whole model."),
    QT_TRANSLATE_NOOP("Sentences", "{}/ has no config.json: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{}/config.json is broken: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{}/ has no .safetensors weights: download them, or run `convert` first."),
    QT_TRANSLATE_NOOP("Sentences", "{} is a Git LFS pointer, not the weights: run `git lfs pull`."),
    QT_TRANSLATE_NOOP("Sentences", "{} is cut off or no weights file: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{} is cut off ({}): download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{} has a broken header: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "The folder cannot be read, as {}: choose another."),
    QT_TRANSLATE_NOOP("Sentences", "There is no model folder '{}': give 'pocket' or the path of a folder."),
    QT_TRANSLATE_NOOP("Sentences", "The folder '{}' holds no transformer/ sub-folder: give a model folder."),
    QT_TRANSLATE_NOOP("Sentences", "The device '{}' is not supported: choose auto, cpu, cuda or cuda:N."),
    QT_TRANSLATE_NOOP("Sentences", "The device '{}' cannot be used ({}): choose --device cpu."),
    QT_TRANSLATE_NOOP("Sentences", "There is no device '{}': this machine has {} CUDA devices."),
    QT_TRANSLATE_NOOP("Sentences", "Unknown device '{}': choose auto, cpu, cuda or cuda:N."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "This model has no HSA parameters, so attention '{}' cannot run: choose sparse or dense, or "
        "calibrate the model first.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The model '{}' has no HSA parameters, so attention '{}' cannot run: choose --attention dense "
        "or sparse.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The density must lie above 0 and at most at 1, not {}."),
    QT_TRANSLATE_NOOP("Sentences", "The seed must be a whole number from 0 to 2^63 - 1, not {}."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The preset and the quotas shape the memory: restart the world to change them.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The latents of this world cannot be read any more: restart it."),
    QT_TRANSLATE_NOOP("Sentences", "Block {} is not made yet: choose one up to {}."),
    QT_TRANSLATE_NOOP("Sentences", "Block {} is not made yet: branch from one of the {} before."),
    QT_TRANSLATE_NOOP("Sentences", "There is no branch '{}': choose one of {}."),
    QT_TRANSLATE_NOOP("Sentences", "The branch has no name: type one."),
    QT_TRANSLATE_NOOP("Sentences", "The branch's name is too long: use at most {} characters."),
    QT_TRANSLATE_NOOP("Sentences", "The branch's name holds a character that cannot be shown: remove it."),
    QT_TRANSLATE_NOOP("Sentences", "There is a branch '{}' already: choose another name."),
    QT_TRANSLATE_NOOP("Sentences", "The branch '{}' is in use: switch to another one before deleting it."),
    QT_TRANSLATE_NOOP("Sentences", "Other branches leave '{}': delete those first."),
    QT_TRANSLATE_NOOP("Sentences", "There is no folder '{}' for {}: make it first, or name another."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': it is a folder, so name a file."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': it is no ordinary file."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': the file there is read-only."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': {}."),
    QT_TRANSLATE_NOOP("Sentences", "{} could not be written to '{}': {}."),
    QT_TRANSLATE_NOOP("Sentences", "The project '{}' cannot be opened: {}"),
    QT_TRANSLATE_NOOP("Sentences", "It is no WorldAttention project: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It was made by a later version (format {}): update WorldAttention."),
    QT_TRANSLATE_NOOP("Sentences", "It is a folder: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It is no ordinary file: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It is no UTF-8 text: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It has {} bytes, and a project at most {}: take another."),
    QT_TRANSLATE_NOOP("Sentences", "There is no such file: check its name."),
    QT_TRANSLATE_NOOP("Sentences", "It cannot be read, as {}."),
    QT_TRANSLATE_NOOP("Sentences", "It is broken at line {}, column {}: {}."),
    QT_TRANSLATE_NOOP("Sentences", "The project holds a value that no file can: correct it before saving."),
    QT_TRANSLATE_NOOP("Sentences", "The telemetry '{}' holds no block: open another recording."),
    QT_TRANSLATE_NOOP("Sentences", "The video '{}' cannot be played: open another recording."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no video '{}': a recorded session is a video with its telemetry beside it.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no telemetry '{}' beside the video: put it there, or open another one.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The telemetry '{}' cannot be read: {}."),
    QT_TRANSLATE_NOOP("Sentences", "The telemetry '{}' is broken at line {}: open another recording."),
    QT_TRANSLATE_NOOP("Sentences", "The recording has ended: go back to an earlier moment."),
    QT_TRANSLATE_NOOP("Sentences", "The video cannot be played any more: open another recording."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no ffmpeg to write the video with: run `pip install imageio-ffmpeg`, or set "
        "IMAGEIO_FFMPEG_EXE to its path.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The video cannot be written to '{}': end its name with {}."),
    QT_TRANSLATE_NOOP("Sentences", "The video could not be written: ffmpeg failed ({})."),
    QT_TRANSLATE_NOOP("Sentences", "The video could not be finished: {}."),
    QT_TRANSLATE_NOOP("Sentences", "The video could not be written: its writer was stopped."),
    QT_TRANSLATE_NOOP("Sentences", "The video could not be written: the disk is full."),
    QT_TRANSLATE_NOOP("Sentences", "Nothing was recorded: let the world run before you stop the recording."),
    QT_TRANSLATE_NOOP("Sentences", "{} The recording is kept as '{}'."),
    QT_TRANSLATE_NOOP("Sentences", "The video cannot be recorded to '{}': {}."),
    QT_TRANSLATE_NOOP("Sentences", "There are too many unfinished recordings beside '{}': delete some."),
    QT_TRANSLATE_NOOP("Sentences", "There is something at '{}' already: name a new folder for the pictures."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no folder '{}' for the pictures: make it first, or name another.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The prompt has {} characters: shorten it to at most {}."),
    QT_TRANSLATE_NOOP("Sentences", "The prompt holds a NUL character: remove it."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The prompt holds half of a character pair (a lone surrogate): type it again.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "Event {} starts before 0 s: move it to 0 or later."),
    QT_TRANSLATE_NOOP("Sentences", "Event {} ends at or before its start: give it a positive length."),
    QT_TRANSLATE_NOOP("Sentences", "Event {} ends after {} hours: let it end earlier."),
    QT_TRANSLATE_NOOP("Sentences", "Events {} and {} overlap: move one so that they do not."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is no amount of memory: write it like 4GB, 512MiB or 0."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is more memory than any machine has: write it like 4GB."),
    QT_TRANSLATE_NOOP("Sentences", "The {} quota must not be negative: give an amount like 4GB, or 0."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The weight file {} is damaged or no safetensors file ({}): install it again.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The weight file {} is only a Git LFS pointer: run 'git lfs pull' to fetch it.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The weight '{}' in {} is not finite: install the model again."),
    QT_TRANSLATE_NOOP("Sentences", "The model file {} is missing: install the model again."),
    QT_TRANSLATE_NOOP("Sentences", "The model file {} cannot be read ({}): install it again."),
    QT_TRANSLATE_NOOP("Sentences", "The text encoder is missing: install it with `pip install {}`."),
    QT_TRANSLATE_NOOP("Sentences", "Loading the libraries"),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "A remembered page came too late from the disk; the picture went on without it.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The memory is full, so the pages used longest ago are being dropped, on the disk every second "
        "page of a scene first; raise --dram-quota or --disk-quota to keep all of them.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The {} memory tier stops at {} GB of its {} GB, because the machine has no more; lower its quota.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The disk tier is off, because {} cannot be written ({}); the world goes on without it.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "This world understands English and Korean; it will show: {}"),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "This world knows villages, beaches, mountains and cities, and people with balls, ribbons, "
        "torches, kites, dogs or balloons; it will show the nearest: {}",
    ),
)


def spoken(sentence: str) -> str:
    """The sentence in the language of the window; a sentence within it, such as a cause, too."""
    for pattern, template in _patterns():
        if (found := pattern.fullmatch(sentence)) is not None:
            said = translate("Sentences", template)
            return sentence if said == template else said.format(*map(_part, found.groups()))
    return sentence


def _part(text: str) -> str:
    """What was put into a sentence: a cause begins there with a small letter."""
    whole = text[:1].upper() + text[1:]
    said = spoken(whole)
    return text if said == whole else said


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The most telling sentences first: `{} {}` would fit them all."""
    telling = sorted(SENTENCES, key=lambda template: -len(template.replace("{}", "")))
    return tuple(
        (re.compile("(.+?)".join(map(re.escape, template.split("{}"))), re.DOTALL), template)
        for template in telling
    )
