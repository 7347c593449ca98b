"""What happens before a world is shown.

While a world begins, it still decides what everything in it looks like, until all that it does was seen once. So it
begins a few seconds early, unseen, and its first blocks are those that follow (MODEL_CARD.md says what that is worth).
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from worldattention.core.config import EngineConfig
from worldattention.core.errors import go_on
from worldattention.core.hkv.ring import FrameRing
from worldattention.core.hkv.window import Window
from worldattention.core.memory import Recalled, kv_shape, new_window, plan_window_of, window_attention
from worldattention.core.models.world import WorldModel
from worldattention.core.passes import Passes
from worldattention.core.sampler import denoise, shifted_timesteps
from worldattention.core.spoken import Spoken
from worldattention.core.window_attention import Observer


class Prelude:
    """A world of one prompt and one configuration, without a bank, a decoder or a past that anybody can go back to.

    A function of model, configuration and prompt alone: made again, it is the same. Forks may share it. Once all
    is made that the world takes, only the latents stay.
    """

    def __init__(self, model: WorldModel, config: EngineConfig, passes: Passes, spoken: Spoken) -> None:
        self._model, self._config, self._passes, self._spoken = model, config, passes, spoken
        self._timesteps = shifted_timesteps(config.sampler)
        self._memory: tuple[FrameRing, Window] | None = (
            FrameRing(kv_shape(model), config.cache.budget_frames, 0, model.device),
            new_window(model, config.cache),
        )
        self._made: list[tuple[Tensor, Tensor]] = []

    @property
    def complete(self) -> bool:
        """Whether all is made that the world takes."""
        return self._memory is None

    @property
    def share(self) -> float:
        """How much is made of what nobody sees."""
        return min(1.0, len(self._made) / self._model.beginning.unseen)

    def is_of(self, config: EngineConfig, spoken: Spoken) -> bool:
        """Whether it is the one of this configuration and prompt."""
        return (self._config, self._spoken.text) == (config, spoken.text)

    def block(
        self, number: int, cancel: Callable[[], bool] | None, observer: Observer | None
    ) -> tuple[Tensor, Tensor]:
        """Latents [1, F, C, h, w] of block `number` of the world that is shown, and the head table of their passes.

        Makes what is missing until there. Raises Cancelled; what was made stays.
        """
        beginning = self._model.beginning
        while self._memory and len(self._made) <= number + beginning.unseen:
            block = len(self._made) - beginning.unseen
            self._made.append(self._make(block, *self._memory, cancel, observer))
            if block == beginning.led - 1:
                self._memory = None
        return self._made[number + beginning.unseen]

    def _make(
        self,
        block: int,
        ring: FrameRing,
        window: Window,
        cancel: Callable[[], bool] | None,
        observer: Observer | None,
    ) -> tuple[Tensor, Tensor]:
        """The next block; those that nobody sees have numbers below 0."""
        model, config, spoken = self._model, self._config, self._spoken
        timesteps = self._timesteps if block >= 0 or not self._made else hurried(self._timesteps)
        plan = plan_window_of(config.cache, Recalled(), ring.frames_done)
        window.install(plan, ring, {})
        attention = window_attention(model, window, plan, config.attention, observer)

        def velocity(latents: Tensor, step: int) -> Tensor:
            go_on(cancel)
            return self._passes.predict(latents, timesteps[step], spoken, attention)

        begin = model.beginning.noises
        noise, *again = begin(config.seed, block, 0, model.geometry.latent_shape, model.device)
        latents = denoise(noise, timesteps, velocity, again)
        table = attention.head_table()
        go_on(cancel)
        ring.append(*self._passes.clean(attention, latents, spoken))
        return latents, table


def hurried(timesteps: tuple[float, ...]) -> tuple[float, ...]:
    """The steps of blocks that nobody sees: the first and the last. A world settles as fast with them."""
    return tuple(dict.fromkeys((timesteps[0], timesteps[-1])))
