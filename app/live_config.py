"""The configuration of a world in the window: no block waits long for the disk, and quotas fit this machine."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from worldattention.core.config import live

if TYPE_CHECKING:
    from worldattention.app.commandline.options import Options
    from worldattention.app.preferences import PreferencesStore
    from worldattention.core.config import EngineConfig
    from worldattention.core.project import ProjectSettings

log = logging.getLogger(__name__)

_TIERS = ("device", "dram", "disk")


class LiveConfig:
    """Configurations for one window. The machine is asked once for each choice of quotas, by who opens the engine."""

    def __init__(self, options: Options, store: PreferencesStore) -> None:
        self._options, self._store = options, store
        self._fitted: dict[tuple[int, ...], tuple[int, ...]] = {}

    def of(self, settings: ProjectSettings) -> EngineConfig:
        """Settings as the engine takes them: preferences, overruled by the options. Raises UserError."""
        config = self._options.cache_options(self._store.current.applied(settings.engine_config()))
        quotas = _quotas(config)
        return _with_quotas(live(config), self._fitted.get(quotas, quotas))

    def fit(self, config: EngineConfig, device: str) -> EngineConfig:
        """`config` with quotas that this machine has; later ones get the same. Imports torch.

        Raises:
            UserError: a quota that was asked for is more than there is.
        """
        from worldattention.core.hkv.quotas import fit_quotas
        from worldattention.core.hkv.session import default_folder
        from worldattention.core.loading import pick_device
        from worldattention.core.model_pages import page_bytes_of

        sources = (self._options, self._store.current)
        asked = [
            tier
            for tier in _TIERS
            if any(getattr(source, f"{tier}_quota_bytes", None) is not None for source in sources)
        ]
        folder = config.cache.folder or default_folder()
        where = pick_device(device)
        page_bytes = page_bytes_of(self._options.model, where, config.cache.page_frames)
        cache, warnings = fit_quotas(config.cache, where, folder, asked, page_bytes)
        for warning in warnings:
            log.warning("%s", warning)
        fitted = replace(config, cache=cache)
        self._fitted[_quotas(config)] = _quotas(fitted)
        return fitted


def _quotas(config: EngineConfig) -> tuple[int, ...]:
    return tuple(getattr(config.cache, f"{tier}_quota_bytes") for tier in _TIERS)


def _with_quotas(config: EngineConfig, quotas: tuple[int, ...]) -> EngineConfig:
    device, dram, disk = quotas
    cache = replace(config.cache, device_quota_bytes=device, dram_quota_bytes=dram, disk_quota_bytes=disk)
    return replace(config, cache=cache)
