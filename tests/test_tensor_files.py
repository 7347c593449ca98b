"""case_12: weights and parameters that a full disk does not take: the file is named, and nothing half is left."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from tests.faulty_disk import tmpfs
from tests.test_convert import originals
from tests.toy import toy_model
from tests.wan_folder import HEAD_DIM, tiny_transformer
from worldattention.core import tensor_files
from worldattention.core.calibration import save_parameters
from worldattention.core.errors import UserError
from worldattention.core.models.convert import convert
from worldattention.core.tensor_files import write_tensors

FULL = SafetensorError(f"Error while serializing: I/O error: No space left (os error {errno.ENOSPC})")


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """A small file system where this process may mount one, else a library that meets a full disk."""
    with tmpfs(tmp_path / "small", 8 << 10) as mounted:
        if not mounted:

            def failing(_tensors, path):
                Path(path).write_bytes(b"half")
                raise FULL

            monkeypatch.setattr(tensor_files, "save_file", failing)
        yield tmp_path / "small"


def test_tensors_come_back(tmp_path):
    made = {"a": torch.randn(3, 4), "b": torch.arange(5)}
    write_tensors(made, tmp_path / "한글.safetensors", "the weights")
    back = load_file(tmp_path / "한글.safetensors")
    assert all(torch.equal(back[name], value) for name, value in made.items())
    assert len(os.listdir(tmp_path)) == 1


def test_parameters_on_a_full_disk_name_their_file(full_disk):
    path = full_disk / "hsa.safetensors"
    with pytest.raises(UserError) as told:
        save_parameters(tuple(layer for seed in range(4) for layer in toy_model(seed).hsa), path)
    assert str(told.value) == (
        f"The HSA parameters could not be written to '{path}': the disk is full, so free some space or choose "
        "another place."
    )
    assert list(full_disk.iterdir()) == []


def test_a_checkpoint_converted_onto_a_full_disk_names_its_file(full_disk, tmp_path):
    torch.save({"generator": originals(tiny_transformer().state_dict())}, tmp_path / "in.pt")
    out = full_disk / "out"
    with pytest.raises(
        UserError, match="the disk is full, so free some space or choose another place"
    ) as told:
        convert(tmp_path / "in.pt", out, head_dim=HEAD_DIM)
    assert str(out / "transformer" / "diffusion_pytorch_model.safetensors") in str(told.value)
    assert {path.name for path in (out / "transformer").iterdir()} <= {"config.json"}


def test_what_is_no_fault_of_the_disk_is_not_taken_for_one(tmp_path, monkeypatch):
    def failing(*_):
        raise SafetensorError("a tensor that cannot be")

    monkeypatch.setattr(tensor_files, "save_file", failing)
    with pytest.raises(SafetensorError, match="cannot be"):
        write_tensors({}, tmp_path / "a.safetensors", "the weights")
    assert os.listdir(tmp_path) == []
