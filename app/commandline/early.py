"""Plain mistakes, answered before torch is loaded: what files, numbers and names tell by themselves.

Whatever does the work checks again, in the same words, since only that sees everything.
"""

from __future__ import annotations

from pathlib import Path

from worldattention.app.commandline.options import Options


def check_options(options: Options, model: bool = True) -> None:
    """Raises UserError when a world cannot be made with these options; `model`: whether one of them is loaded."""
    if model:
        from worldattention.core.model_folder import check_model

        check_model(options.model)
    if options.text_pack is not None:
        from worldattention.core.pocket.pack_header import read_header

        read_header(options.text_pack)
    _check_quotas(options)


def _check_quotas(options: Options) -> None:
    asked = ["disk"] if options.disk_quota_bytes is not None else []
    if (
        options.device == "cpu" and options.device_quota_bytes is not None
    ):  # a GPU's memory only torch can tell
        asked.append("device")
    if asked:
        from worldattention.core.config import EngineConfig
        from worldattention.core.hkv.quotas import fit_quotas
        from worldattention.core.hkv.session import default_folder

        fit_quotas(options.cache_options(EngineConfig()).cache, "cpu", default_folder(), asked)


def check_targets(**targets: Path | None) -> None:
    """Raises UserError when a file cannot be written, as `the_table=path`; None is none."""
    from worldattention.core.files import check_target

    for what, path in targets.items():
        if path is not None:
            check_target(path, what.replace("_", " "))
