"""Text encoders: what prompts become."""

import random
import shutil

import pytest
import torch

from worldattention.core.errors import UserError
from worldattention.core.models.text import MiniLMEncoder, minilm_folder
from worldattention.core.pocket.grammar import PARAPHRASES, prompt_table, sentence
from worldattention.core.pocket.text_pack import PackTextEncoder, embed_pack, write_text_pack


@pytest.fixture(scope="module")
def encoder():
    return MiniLMEncoder()


def test_encoding_has_its_contract(encoder):
    e = encoder.encode("A man in a red shirt throws a red ball on the beach.")
    assert e.tokens.shape == (64, encoder.dim) == (64, 384)
    assert e.tokens.dtype == torch.float32
    assert torch.count_nonzero(e.tokens[e.length :]) == 0
    mean = e.tokens[: e.length].mean(0)
    assert torch.allclose(e.pooled, mean / mean.norm(), atol=1e-5)
    assert 0.6 < e.tokens[: e.length].std() < 1.2
    assert encoder.encode("A man in a red shirt throws a red ball on the beach.") is e


@pytest.mark.parametrize("text", ["", " ", "\0", "😀" * 300, "ball " * 20_000, "שלום עולם", "a\nb"])
def test_any_text_encodes(encoder, text):
    e = encoder.encode(text)
    assert 2 <= e.length <= 64
    assert torch.isfinite(e.tokens).all()
    assert abs(float(e.pooled.norm()) - 1) < 1e-5


def test_paraphrases_are_nearer_than_other_scenes(encoder):
    rng = random.Random(7)
    same, place, action = [], [], []
    for _ in range(40):
        scene = [rng.randrange(n) for n in (2, 8, 7, 4, 3, 3)]
        elsewhere = [*scene[:3], (scene[3] + 1) % 4, *scene[4:]]
        otherwise = [*scene[:2], (scene[2] + 1) % 7, *scene[3:]]
        said = encoder.encode(sentence(*scene, rng)).pooled
        for found, other in ((same, scene), (place, elsewhere), (action, otherwise)):
            found.append(float(said @ encoder.encode(sentence(*other, rng)).pooled))
    assert sum(same) / 40 > max(sum(place), sum(action)) / 40 + 0.05
    assert said @ encoder.encode("Stock prices fell sharply today.").pooled < 0.3


def test_cache_is_bounded(encoder):
    for i in range(300):
        encoder.encode(str(i))
    assert len(encoder._cache) <= 256


def test_foreign_weights_are_refused(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(minilm_folder(), folder)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\x01\x02\x03")
    with pytest.raises(UserError, match="reinstall"):
        MiniLMEncoder(folder)


def test_missing_package_is_a_plain_sentence():
    with pytest.raises(UserError, match="pip install no-such-package"):
        minilm_folder("no_such_package")


def test_pack_gives_what_the_encoder_gives(encoder, tmp_path, monkeypatch):
    table = prompt_table()[: 7 * PARAPHRASES]
    monkeypatch.setattr("worldattention.core.pocket.text_pack.prompt_table", lambda: table)
    path = tmp_path / "pack.safetensors"
    write_text_pack(path)
    assert path.stat().st_size < 16e6
    tokens, pooled = embed_pack(path, "cpu")
    assert tokens.shape == (len(table), 64, 384)
    assert tokens.dtype == torch.float16
    for i in range(0, len(table), 5):
        e = encoder.encode(table[i])
        assert torch.count_nonzero(tokens[i, e.length :]) == 0
        assert torch.cosine_similarity(tokens[i].float().flatten(), e.tokens.flatten(), dim=0) > 0.998
        assert pooled[i] @ e.pooled > 0.998
    packed = PackTextEncoder(path)
    for text in (table[3], table[-1], "A man in a red shirt, " * 30, "a quokka surfs", ""):
        e, p = encoder.encode(text), packed.encode(text)
        assert p.tokens.shape == e.tokens.shape
        assert p.length == e.length
        if text in table:
            assert p.pooled @ e.pooled > 0.998
            assert torch.cosine_similarity(p.tokens.flatten(), e.tokens.flatten(), dim=0) > 0.998
    path.write_bytes(path.read_bytes()[:5000])
    for broken in (path, tmp_path / "none"):
        with pytest.raises(UserError, match="text pack"):
            PackTextEncoder(broken)
