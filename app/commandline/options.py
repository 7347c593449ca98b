"""Options that every command takes after its name, and how they change a project's settings."""

from __future__ import annotations

import argparse
import logging
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from worldattention.core.config import ATTENTION_MODES, CODEC_NAMES, PRESETS, RETRIEVAL_POLICIES
from worldattention.core.errors import UserError
from worldattention.core.units import parse_bytes

if TYPE_CHECKING:
    from worldattention.core.config import CodecName, EngineConfig
    from worldattention.core.project import ProjectSettings


_OF_THE_CACHE = (
    "device_quota_bytes",
    "dram_quota_bytes",
    "disk_quota_bytes",
    "codec",
    "recall_every_blocks",
    "similarity",
    "recency",
    "diversity",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The common options. None means: as the project says."""

    model: str = "pocket"
    device: str = "auto"
    preset: str | None = None
    attention: str | None = None
    retrieval: str | None = None
    density: float | None = None
    seed: int | None = None
    device_quota_bytes: int | None = None
    dram_quota_bytes: int | None = None
    disk_quota_bytes: int | None = None
    codec: CodecName | None = None
    write_through: bool = False
    recall_every_blocks: int | None = None
    similarity: float | None = None
    recency: float | None = None
    diversity: float | None = None
    text_pack: Path | None = None
    json: bool = False
    debug: bool = False

    @property
    def as_recorded(self) -> bool:
        """Whether nothing is asked for that a recorded history may have had otherwise."""
        choices = self.preset, self.attention, self.retrieval, self.density, self.seed
        return all(choice is None for choice in choices)

    def engine_config(self, settings: ProjectSettings) -> EngineConfig:
        """The engine's configuration: the project's settings, overruled by the options. Raises UserError."""
        merged = replace(
            settings,
            preset=self.preset or settings.preset,
            attention=self.attention or settings.attention,
            retrieval=self.retrieval or settings.retrieval,
            density=settings.density if self.density is None else self.density,
            seed=settings.seed if self.seed is None else self.seed,
        )
        return self.cache_options(merged.engine_config())

    def cache_options(self, config: EngineConfig) -> EngineConfig:
        """`config` with what was asked of the memory: quotas, codec, how often and what to recall."""
        asked = {name: getattr(self, name) for name in _OF_THE_CACHE}
        asked = {name: value for name, value in asked.items() if value is not None}
        return replace(config, cache=replace(config.cache, write_through=self.write_through, **asked))


def fit_to_machine(
    options: Options, config: EngineConfig, page_bytes: int | None = None
) -> tuple[EngineConfig, tuple[str, ...]]:
    """The configuration with quotas that this machine has, and warnings in plain words.

    Quotas that nobody asked for hold some pages of the model (of `page_bytes`, if it is not the options'), or
    shrink; one that was asked for is kept with a warning, or refused.

    Raises:
        UserError: a quota is more than there is, or the device is not there.
    """
    from worldattention.core.hkv.quotas import fit_quotas
    from worldattention.core.hkv.session import default_folder
    from worldattention.core.loading import pick_device
    from worldattention.core.model_pages import page_bytes_of

    device = pick_device(options.device)
    if page_bytes is None:
        page_bytes = page_bytes_of(options.model, device, config.cache.page_frames)
    asked = {
        "device": options.device_quota_bytes,
        "dram": options.dram_quota_bytes,
        "disk": options.disk_quota_bytes,
    }
    cache, warnings = fit_quotas(
        config.cache,
        device,
        config.cache.folder or default_folder(),
        [tier for tier, quota in asked.items() if quota is not None],
        page_bytes,
    )
    return replace(config, cache=cache), warnings


class WrongUsage(UserError):
    """Options that do not go together: exit code 2."""


class Parser(argparse.ArgumentParser):
    """Answers wrong usage with one sentence and exit code 2."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.register("type", Path, lambda text: Path(name(text)))

    def error(self, message: str) -> NoReturn:
        """Ends the program."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def common_options() -> argparse.ArgumentParser:
    """A parent parser with the common options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    group = parser.add_argument_group(
        "options of every command", "A page holds up to two seconds of what a world remembers."
    )
    add = group.add_argument
    add(
        "--model",
        default="pocket",
        metavar="pocket|DIR",
        help="the small model that comes with the program, or a folder (default: pocket)",
    )
    add(
        "--device",
        type=_device,
        default="auto",
        help="where it runs: cpu, cuda, cuda:N, or auto, a GPU where there is one (default: auto)",
    )
    add(
        "--preset",
        type=_one_of("preset", PRESETS),
        metavar="|".join(PRESETS),
        help="how pages are chosen and read: our way, or that of the paper's authors (default: the project's, else "
        "playground)",
    )
    add(
        "--attention",
        type=_one_of("attention", ATTENTION_MODES),
        metavar="|".join(ATTENTION_MODES),
        help="how the past is read: hsa (what matters exactly, the rest coarsely), dense (all of it exactly), or one "
        "half of hsa alone, sparse or linear (default: the project's, else hsa)",
    )
    add(
        "--retrieval",
        type=_one_of("retrieval", RETRIEVAL_POLICIES),
        metavar="|".join(RETRIEVAL_POLICIES),
        help="which pages come back when the prompt changes: hkv (those that fit best), or another choice to compare "
        "with (default: the project's, else hkv)",
    )
    add(
        "--density",
        type=share,
        metavar="D",
        help="share of the past to read exactly, above 0 and at most 1, instead of as much as each head needs",
    )
    add(
        "--seed",
        type=seed,
        metavar="N",
        help="a whole number: another one gives another world of the same prompts",
    )
    add(
        "--device-quota",
        dest="device_quota_bytes",
        type=size,
        metavar="SIZE",
        help="most GPU memory for pages, as 1G",
    )
    add(
        "--dram-quota",
        dest="dram_quota_bytes",
        type=size,
        metavar="SIZE",
        help="most main memory for pages, as 500M",
    )
    add(
        "--disk-quota",
        dest="disk_quota_bytes",
        type=size,
        metavar="SIZE",
        help="most disk space for pages, as 8G",
    )
    add(
        "--codec",
        type=_one_of("codec", CODEC_NAMES),
        metavar="|".join(CODEC_NAMES),
        help="how pages lie in main memory and on the disk: as they are (bf16), or in half the bytes (default: bf16)",
    )
    add(
        "--write-through",
        action="store_true",
        help="write every page to a file at once, not only when memory is full",
    )
    add(
        "--recall-every",
        dest="recall_every_blocks",
        type=whole,
        metavar="N",
        help="let pages come back every N blocks too, not only when the prompt changes (default: 0, never)",
    )
    add(
        "--similarity",
        type=not_negative,
        metavar="W",
        help="how much less a page counts whose prompt is less like the new one than another page's (default: 5, with "
        "authors 0)",
    )
    add(
        "--recency",
        type=not_negative,
        metavar="W",
        help="how much less a page counts for each minute of its age (default: 0)",
    )
    add(
        "--diversity",
        type=not_negative,
        metavar="W",
        help="how much less a page counts that is like a better one (default: 0)",
    )
    add(
        "--text-pack",
        type=Path,
        metavar="FILE",
        help="read prompts with this file, as `train pocket` writes one, where the text encoder's package is missing",
    )
    add("--json", action="store_true", help="print the result as one JSON object, the last line of stdout")
    add("--debug", action="store_true", help="log everything, and show where an error comes from")
    return parser


def take_common(arguments: argparse.Namespace) -> Options:
    """The common options out of parsed arguments."""
    return Options(**{name: getattr(arguments, name) for name in Options.__dataclass_fields__})


def set_up_logging(debug: bool, chatty: bool = False) -> None:
    """Errors to stderr; with `chatty` what goes on as well, with `debug` everything."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if debug else logging.ERROR,
        format="%(levelname)s %(name)s: %(message)s",
        force=True,
    )
    if chatty and not debug:
        logging.getLogger("worldattention").setLevel(logging.INFO)


def name(text: str) -> str:
    """The name of a file or folder: Path would take an empty one for the folder where the command runs."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty: give one")
    return text


def seconds(text: str) -> float:
    """A positive length in seconds; both decimal separators are right."""
    value = _number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no length above 0 s")
    return value


def positive_number(text: str) -> float:
    """A number above 0."""
    value = _number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not above 0")
    return value


def not_negative(text: str) -> float:
    """A number from 0."""
    value = _number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is below 0")
    return value


def share(text: str) -> float:
    """A share above 0 and at most 1."""
    value = _number(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' must be above 0 and at most 1")
    return value


def seed(text: str) -> int:
    """A seed from 0 to 2^63 - 1."""
    value = whole(text)
    if value >= 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is above 2^63 - 1")
    return value


def whole(text: str) -> int:
    """A whole number from 0."""
    if not re.fullmatch(r"[0-9]{1,30}", text):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is no whole number from 0")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not above 0")
    return value


def size(text: str) -> int:
    """Bytes, as `units.parse_bytes` reads them."""
    try:
        return parse_bytes(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error


def _number(text: str) -> float:
    try:
        value = float(text.replace(",", ".", 1))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is no number")
    return value


def _device(text: str) -> str:
    """The name of a device; whether it is there only torch can say."""
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,3})?", text):
        raise argparse.ArgumentTypeError(f"unknown device '{text[:40]}', choose auto, cpu, cuda or cuda:N")
    return text


def _one_of(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"unknown {name} '{text[:40]}', choose {', '.join(choices)}")
        return text

    return check
