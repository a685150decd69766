"""Modules with weights or rules of their own, compared with torch's in state and results."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn, tensor
from kit.place import put
from kit.requirements import need

RANDOM = np.random.default_rng(9)


def random(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def pair(name: str, args: Any, keywords: Any, text: bool = True) -> tuple[Any, Any]:
    torch = need("torch")
    theirs = getattr(torch.nn, name)(*args, **keywords).eval()
    ours = getattr(nn, name)(*args, **keywords)
    if text:
        assert repr(ours) == repr(theirs)
    ours.load_state_dict({key: put(value) for key, value in theirs.state_dict().items()})
    return ours, theirs


def close(got: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        for one, two in zip(got, wanted, strict=True):
            close(one, two)
        return
    assert tuple(got.shape) == tuple(wanted.shape)
    assert np.allclose(got.numpy(force=True), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def compare(name: str, args: Any, keywords: Any, *inputs: Any, text: bool = True) -> None:
    torch = need("torch")
    ours, theirs = pair(name, args, keywords, text)
    with torch.no_grad():
        close(ours(*map(tensor, inputs)), theirs(*map(torch.from_numpy, inputs)))


def test_activations() -> None:
    compare("PReLU", (), {}, random(2, 3, 4))
    compare("PReLU", (3,), {"init": 0.5}, random(2, 3, 4))
    compare("RReLU", (), {}, random(2, 3))
    compare("Softmax2d", (), {}, random(2, 3, 4, 5))
    compare("Softmax2d", (), {}, random(3, 4, 5))


DROPOUTS = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropouts(name: str) -> None:
    x = random(2, 3, 4, 4, 4)[(0,) * (3 - int(name[-2])) if name[-1] == "d" else ...]
    compare(name, (), {"p": 0.25}, x)
    layer = getattr(nn, name)(1.0)
    assert np.array_equal(layer(tensor(x)).numpy(force=True), x)
    assert not np.array_equal(layer.train()(tensor(x)).numpy(force=True), x)
    with pytest.raises(ValueError, match=f"{name}: p is 2"):
        getattr(nn, name)(2)


def test_products_and_bags() -> None:
    compare("Bilinear", (3, 4, 5), {}, random(2, 3), random(2, 4))
    compare("Bilinear", (3, 4, 5), {"bias": False}, random(2, 3), random(2, 4))
    indices, offsets = np.array([1, 2, 4, 5, 4, 3, 2, 9]), np.array([0, 4])
    for mode in ("sum", "mean", "max"):
        compare("EmbeddingBag", (10, 3), {"mode": mode}, indices, offsets)
        compare("EmbeddingBag", (10, 3), {"mode": mode}, indices.reshape(2, 4))
    compare("EmbeddingBag", (10, 3), {"padding_idx": 2}, indices, offsets)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pools_and_back(rank: int) -> None:
    torch = need("torch")
    x = random(2, 3, *[6] * rank)
    there, theirs = pair(f"MaxPool{rank}d", (2,), {"return_indices": True}, False)
    back, their_back = pair(f"MaxUnpool{rank}d", (2,), {})
    values, indices = theirs(torch.from_numpy(x))
    close(there(tensor(x)), (values, indices))
    close(back(put(values), put(indices)), their_back(values, indices))
    wider = [7] * rank
    close(back(put(values), put(indices), wider), their_back(values, indices, wider))
    compare(f"LPPool{rank}d", (2, 2), {}, np.abs(x), text=False)


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_pools(rank: int) -> None:
    samples = tensor(RANDOM.random((2, 3, rank)).astype(np.float32))
    pool = getattr(nn, f"FractionalMaxPool{rank}d")(2, 3, _random_samples=samples)
    assert pool(tensor(random(2, 3, *[6] * rank))).shape == (2, 3, *[3] * rank)


def test_images() -> None:
    compare("UpsamplingNearest2d", (), {"scale_factor": 2}, random(1, 2, 3, 4))
    compare("UpsamplingBilinear2d", (), {"scale_factor": 2}, random(1, 2, 3, 4))
    compare("UpsamplingBilinear2d", ((5, 6),), {}, random(1, 2, 3, 4))
    for size in (1, 2, 3, 4, 5):
        compare("CrossMapLRN2d", (size,), {"alpha": 0.5}, random(2, 4, 3, 3))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_decoders(norm_first: bool, batch_first: bool) -> None:
    torch = need("torch")
    keywords = {"norm_first": norm_first, "batch_first": batch_first, "activation": "gelu"}
    x, memory = random(4, 4, 8), random(4, 4, 8)
    compare("TransformerDecoderLayer", (8, 2, 16), keywords, x, memory, text=False)
    ours, theirs = pair("Transformer", (8, 2, 2, 2, 16), keywords, False)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(4)
    close(nn.Transformer.generate_square_subsequent_mask(4), mask)
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(memory), torch.from_numpy(x), tgt_mask=mask)
    close(ours(tensor(memory), tensor(x), tgt_mask=put(mask)), wanted)


def test_rare_classes() -> None:
    torch = need("torch")
    ours, theirs = pair("AdaptiveLogSoftmaxWithLoss", (8, 20, [5, 10]), {"div_value": 2.0})
    x, target = random(6, 8), np.array([0, 4, 5, 9, 10, 19])
    with torch.no_grad():
        given = torch.from_numpy(x)
        close(ours(tensor(x), tensor(target)), tuple(theirs(given, torch.from_numpy(target))))
        close(ours.log_prob(tensor(x)), theirs.log_prob(given))
        close(ours.predict(tensor(x)), theirs.predict(given))
    with pytest.raises(ValueError, match="cutoffs is"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, [10, 5])


def test_parameters_by_name() -> None:
    made = nn.ParameterDict({"a": infinicore.ones(2), "b": nn.Parameter(infinicore.zeros(3))})
    assert list(made.state_dict()) == ["a", "b"]
    assert isinstance(made["a"], nn.Parameter)
    made.update([("c", infinicore.ones(1))])
    assert list(made) == ["a", "b", "c"]
    assert len(made) == 3
    assert "c" in made
    assert made.pop("c").shape == (1,)
    assert list(reversed(made)) == ["b", "a"]
    assert made.setdefault("a") is made["a"]
    assert list(made.copy().keys()) == ["a", "b"]
    made.clear()
    assert made.get("a") is None
    assert not len(made)


def test_buffers() -> None:
    module = nn.Module()
    module.kept = nn.Buffer(infinicore.ones(2))
    module.fleeting = nn.Buffer(infinicore.ones(2), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert [name for name, _ in module.named_buffers()] == ["kept", "fleeting"]
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert list(other.state_dict()) == ["kept"]
        assert other.fleeting.tolist() == [1, 1]
    with pytest.raises(ValueError, match="Buffer: data is int"):
        nn.Buffer(1)
