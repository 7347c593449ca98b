"""The tree of a world's pasts: branches, where they leave their parents, and what every block was made from.

Pure data. A branch owns the blocks from `from_block` on; those before are its parent's. Its timeline is whole,
so that a branch can be made again without its parents.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from worldattention.core.config import EngineConfig, SamplerConfig, with_choices, with_preset
from worldattention.core.errors import UserError
from worldattention.core.timeline import Timeline

ROOT = "Main"
MAX_NAME_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """What one block was really made from.

    `pages` were in the attention window, in slot order; `missed` were chosen or kept but could not be read;
    `recalled`: the pages were chosen anew in this block. Made again with these, a block has equal frames.
    """

    prompt: str
    seed: int = 0
    preset: str = "playground"
    attention: str = "hsa"
    retrieval: str = "hkv"
    density: float | None = None
    recall_every_blocks: int = 0
    timesteps: tuple[float, ...] = SamplerConfig().timesteps
    pages: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()
    recalled: bool = False

    def config(self, base: EngineConfig) -> EngineConfig:
        """`base` (its quotas and sizes) with this block's choices. Raises UserError on a bad one."""
        base = with_preset(base, self.preset)
        chosen = with_choices(base, attention=self.attention, retrieval=self.retrieval, seed=self.seed)
        return replace(
            chosen,
            attention=replace(chosen.attention, density=self.density),
            cache=replace(chosen.cache, recall_every_blocks=self.recall_every_blocks),
            sampler=replace(chosen.sampler, timesteps=self.timesteps),
        )


def block_record(
    prompt: str,
    config: EngineConfig,
    pages: tuple[int, ...] = (),
    missed: tuple[int, ...] = (),
    recalled: bool = False,
) -> BlockRecord:
    """The record of a block made under `prompt` and `config`."""
    return BlockRecord(
        prompt=prompt,
        seed=config.seed,
        preset=config.preset,
        attention=config.attention.mode,
        retrieval=config.cache.retrieval,
        density=config.attention.density,
        recall_every_blocks=config.cache.recall_every_blocks,
        timesteps=config.sampler.timesteps,
        pages=pages,
        missed=missed,
        recalled=recalled,
    )


@dataclass(frozen=True, slots=True)
class Branch:
    """One past. `records` are of its own blocks, from `from_block` on; those before are the parent's."""

    name: str = ROOT
    parent: str | None = None
    from_block: int = 0
    timeline: Timeline = field(default_factory=Timeline)
    records: tuple[BlockRecord, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)  # keys of its file that this version does not know
    event_extra: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def blocks(self) -> int:
        """Blocks that are made, the parent's included."""
        return self.from_block + len(self.records)


@dataclass(frozen=True, slots=True)
class History:
    """Branches in the order of their making, the root first; `current` is the one that goes on."""

    branches: tuple[Branch, ...] = (Branch(),)
    current: str = ROOT
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether it tells nothing that timeline and settings do not: one branch, under one wish, nothing missed."""
        records = self.branches[0].records
        wishes = {replace(record, prompt="", pages=(), recalled=False) for record in records}
        return (
            len(self.branches) == 1
            and not self.extra
            and len(wishes) < 2
            and not any(r.missed for r in records)
        )

    @property
    def outline(self) -> History:
        """Without what blocks were made from: it changes with edits only, not while the world goes on."""
        if len(self.branches) == 1 and not self.extra:
            return History()
        return replace(self, branches=tuple(replace(branch, records=()) for branch in self.branches))

    def get(self, name: str) -> Branch:
        """The branch of that name. Raises UserError."""
        for branch in self.branches:
            if branch.name == name:
                return branch
        raise UserError(f"There is no branch '{name[:60]}': choose one of {self._names()}.")

    def has(self, name: str) -> bool:
        """Whether there is a branch of that name."""
        return any(branch.name == name for branch in self.branches)

    def children(self, name: str) -> tuple[Branch, ...]:
        """The branches that leave this one."""
        return tuple(branch for branch in self.branches if branch.parent == name)

    def path(self, name: str) -> tuple[Branch, ...]:
        """From the root to the branch."""
        path = [self.get(name)]
        while (parent := path[-1].parent) is not None:
            path.append(self.get(parent))
        return tuple(reversed(path))

    def records(self, name: str) -> tuple[BlockRecord, ...]:
        """Of all blocks of a branch, from block 0 on, those of its parents included."""
        records: tuple[BlockRecord, ...] = ()
        for branch in self.path(name):
            records = records[: branch.from_block] + branch.records
        return records

    def put(self, branch: Branch) -> History:
        """With this branch instead of the one of its name."""
        return replace(
            self, branches=tuple(branch if old.name == branch.name else old for old in self.branches)
        )

    def fork(self, name: str, block: int) -> History:
        """With a new branch that leaves the current one at `block` and becomes the current one.

        A block that is a parent's makes it a sister: it leaves the branch which owns the block.

        Raises UserError when the block is not made yet, or the name is bad or taken.
        """
        name = check_name(name)
        if self.has(name):
            raise UserError(f"There is a branch '{name}' already: choose another name.")
        parent = self.get(self.current)
        timeline = parent.timeline
        if not 0 <= block <= parent.blocks:
            raise UserError(f"Block {block} is not made yet: branch from one of the {parent.blocks} before.")
        while parent.parent is not None and block <= parent.from_block:
            parent = self.get(parent.parent)
        branch = Branch(name, parent.name, block, timeline)
        return replace(self, branches=(*self.branches, branch), current=name)

    def rename(self, name: str, new: str) -> History:
        """With another name for a branch. Raises UserError when that is bad or taken."""
        new = check_name(new)
        self.get(name)
        if new != name and self.has(new):
            raise UserError(f"There is a branch '{new}' already: choose another name.")

        branches = tuple(
            replace(
                branch,
                name=new if branch.name == name else branch.name,
                parent=new if branch.parent == name else branch.parent,
            )
            for branch in self.branches
        )
        return replace(self, branches=branches, current=new if self.current == name else self.current)

    def remove(self, name: str) -> History:
        """Without a branch that nothing leaves. Raises UserError for the root and the current one."""
        branch = self.get(name)
        if branch.parent is None or name == self.current:
            raise UserError(f"The branch '{name}' is in use: switch to another one before deleting it.")
        if self.children(name):
            raise UserError(f"Other branches leave '{name}': delete those first.")
        return replace(self, branches=tuple(other for other in self.branches if other.name != name))

    def bring_back(self, branch: Branch, index: int) -> History:
        """With a branch that was removed, at its place in the order. Raises UserError when its name is taken."""
        if self.has(branch.name):
            raise UserError(f"There is a branch '{branch.name}' already: choose another name.")
        if branch.parent is not None:
            self.get(branch.parent)
        return replace(self, branches=(*self.branches[:index], branch, *self.branches[index:]))

    def free_name(self, stem: str = "Branch", but: Collection[str] = ()) -> str:
        """A name that is not taken, nor one of `but`: the stem and a number."""
        number = len(self.branches)
        while self.has(f"{stem} {number}") or f"{stem} {number}" in but:
            number += 1
        return f"{stem} {number}"

    def _names(self) -> str:
        names = [branch.name for branch in self.branches[:8]]
        return ", ".join(names) + (", ..." if len(self.branches) > len(names) else "")


def make_history(branches: tuple[Branch, ...], current: str, extra: dict[str, Any] | None = None) -> History:
    """A sound history. Raises UserError on bad or double names, a missing parent, or a circle of parents."""
    if not branches:
        raise UserError("The history has no branch: leave the history out.")
    seen: dict[str, Branch] = {}
    for branch in branches:
        if check_name(branch.name) != branch.name or branch.name in seen:
            raise UserError(f"Two branches are called '{branch.name[:60]}': give each a name of its own.")
        if (branch.parent is None) != (not seen):
            raise UserError(f"The branch '{branch.name[:60]}' has no parent: only the first may have none.")
        if branch.parent is not None and branch.parent not in seen:  # parents come first, so no circle exists
            raise UserError(f"The branch '{branch.name[:60]}' comes before its parent: put it behind.")
        if branch.parent is None and branch.from_block:
            raise UserError("The first branch does not begin at block 0: correct its beginning.")
        if branch.parent is not None and not 0 <= branch.from_block <= seen[branch.parent].blocks:
            raise UserError(f"The branch '{branch.name[:60]}' leaves its parent where that has no block.")
        seen[branch.name] = branch
    history = History(branches, current, extra or {})
    history.get(current)
    return history


def check_name(name: str) -> str:
    """The name without blanks around it. Raises UserError when it is empty, too long or holds odd characters."""
    name = name.strip()
    if not name:
        raise UserError("The branch has no name: type one.")
    if len(name) > MAX_NAME_CHARACTERS:
        raise UserError(f"The branch's name is too long: use at most {MAX_NAME_CHARACTERS} characters.")
    if not name.isprintable():
        raise UserError("The branch's name holds a character that cannot be shown: remove it.")
    return name
