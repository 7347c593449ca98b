"""What an engine writes down between blocks, so that it can go back to any of them (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from torch import Tensor

from worldattention.core.config import EngineConfig, RetrievalPolicy
from worldattention.core.history import BlockRecord
from worldattention.core.hkv.bank import BankMark
from worldattention.core.latents import LatentStore
from worldattention.core.memory import Recalled


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """An engine between two blocks, without its tensors: those come from the bank and from the latents."""

    config: EngineConfig
    frames_done: int  # latent
    bank: BankMark
    recalled: Recalled
    spoken: str | None
    last_policy: RetrievalPolicy
    banked_frames: int


@dataclass(slots=True)
class Journal:
    """Of every block: the moment before it, what it was made from, and its latents (shared with forks)."""

    store: LatentStore
    moments: list[Moment] = field(default_factory=list)
    records: list[BlockRecord] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    @classmethod
    def empty(cls, folder: Path) -> Journal:
        """Of a world without blocks; `folder` is where latents are kept."""
        return cls(LatentStore(folder))

    def add(self, before: Moment, record: BlockRecord, latents: Tensor) -> None:
        """A block was made; latents [F, C, h, w]."""
        self.moments.append(before)
        self.records.append(record)
        self.numbers.append(self.store.append(latents))

    def latents(self, block: int) -> Tensor:
        """[F, C, h, w] fp32 on the CPU."""
        return self.store.read(self.numbers[block])

    def turns(self, preset: str, before: str | None = None) -> bool:
        """Whether the last block was made with another preset (with `before`)."""
        last = self.records[-1].preset if self.records else preset
        return last != preset and before in (None, last)

    def blocks_before(self, preset: str) -> int:
        """How many blocks were made before the last ones, which have this preset (all, if the last has another)."""
        return self._since(lambda record: record.preset == preset)

    def scene(self, prompt: str) -> int:
        """The block from which on `prompt` was spoken without a change; the next one's if it is new."""
        return self._since(lambda record: record.prompt == prompt)

    def as_begun(self, config: EngineConfig) -> bool:
        """Whether every block was made with `config`, and none recalled anything."""
        alike = all(moment.config == config for moment in self.moments)
        return alike and not any(record.recalled for record in self.records)

    def _since(self, holds: Callable[[BlockRecord], bool]) -> int:
        """From which block on `holds` is true of all."""
        return len(self.records) - sum(1 for _ in takewhile(holds, reversed(self.records)))

    def renewed(self) -> Journal:
        """Of a new world in the same folder; the latents of the old one go with its last branch."""
        return Journal.empty(self.store.folder)

    def fork(self, blocks: int | None = None) -> Journal:
        """For a world that goes on by itself (behind its first `blocks` blocks)."""
        return Journal(self.store, self.moments[:blocks], self.records[:blocks], self.numbers[:blocks])
