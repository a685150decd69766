"""The checked configuration of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from infinicore.llm.config_checks import check_settings, is_positive, is_whole
from infinicore.llm.files import ModelFileError
from infinicore.nn.rope_scaling import (
    Llama3RopeScalingConfig,
    LongRopeScalingConfig,
    RopeScalingConfig,
    YarnRopeScalingConfig,
)

# Values that configuration files leave out if they are the default.
_USUAL: dict[str, dict[str, Any]] = {
    "gemma2": {
        "head_dim": 256,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
        "hidden_activation": "gelu_pytorch_tanh",
    },
    "gemma3_text": {
        "head_dim": 256,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "rope_theta": 1e6,
        "hidden_activation": "gelu_pytorch_tanh",
    },
    "mixtral": {"rope_theta": 1e6, "rms_norm_eps": 1e-5},
}
_USUAL["gemma3"] = _USUAL["gemma3_text"]


@dataclass(frozen=True)
class ModelConfig:
    """The settings common to all decoders; `raw` has the others, under the names of config.json."""

    model_type: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    wide: int  # the inner size of the feed-forward part
    vocab: int
    epsilon: float
    positions: int
    rope_theta: float
    rotary_dim: int
    rope_neighbours: bool  # rotary pairs are elements 2i and 2i + 1 of a head, not i and i + half
    tied: bool  # the head shares the embedding's weight if the file has none
    activation: str
    eos: tuple[int, ...]
    raw: dict[str, Any] = field(repr=False)

    @property
    def scaling(self) -> RopeScalingConfig | None:
        return rope_scaling(self.raw, self.rotary_dim, self.rope_theta, self.positions)

    @property
    def long_from(self) -> int | None:
        """Requests with more tokens than this use LongRoPE's long factors; None: no LongRoPE."""
        scaling = self.scaling
        if not isinstance(scaling, LongRopeScalingConfig):
            return None
        return scaling.original_max_position_embeddings

    def window(self, layer: int) -> int:
        """The number of keys that a query attends to, including its own; 0: all."""
        size = self.raw.get("sliding_window")
        if not size or self.raw.get("use_sliding_window") is False:
            return 0
        kinds = self.raw.get("layer_types")
        if kinds is not None:
            return int(size) if kinds[layer] == "sliding_attention" else 0
        if self.model_type == "gemma2":
            return int(size) if layer % 2 == 0 else 0
        if self.model_type == "gemma3_text":
            return int(size) if (layer + 1) % int(self.raw.get("sliding_window_pattern", 6)) else 0
        return int(size)


def read_config(raw: dict[str, Any], source: str) -> ModelConfig:
    """Parses a config.json; the error for a missing or invalid setting names it."""
    raw = {**_USUAL.get(str(raw.get("model_type")), {}), **raw}

    def whole(key: str, default: int | None = None, least: int = 1) -> int:
        value = raw.get(key)
        value = default if value is None else value
        if not is_whole(value, least):
            raise ModelFileError(
                f"{source}: {key} is {value!r}: expected a whole number from {least} on"
            )
        return int(value or 0)

    def number(key: str, default: float) -> float:
        value = default if raw.get(key) is None else raw[key]
        if not is_positive(value):
            raise ModelFileError(f"{source}: {key} is {value!r}: expected a number above 0")
        return float(value)

    kind = raw.get("model_type")
    if not isinstance(kind, str):
        raise ModelFileError(f"{source}: model_type is {kind!r}: expected a name")
    hidden, heads = whole("hidden_size"), whole("num_attention_heads")
    kv_heads = whole("num_key_value_heads", heads)
    if heads % kv_heads:
        raise ModelFileError(
            f"{source}: num_attention_heads is {heads}: expected a multiple of"
            f" num_key_value_heads, which is {kv_heads}"
        )
    head_dim = whole("head_dim", max(hidden // heads, 1))
    layers = whole("num_hidden_layers")
    check_settings(raw, layers, source)
    rope = {**raw, **_parameters(raw)}
    check_settings(rope, layers, source)
    rotary = int(head_dim * float(rope.get("partial_rotary_factor") or 1.0))
    if rotary % 2 or not 0 < rotary <= head_dim:
        raise ModelFileError(
            f"{source}: {rotary} of {head_dim} elements of a head rotate (head_dim,"
            " partial_rotary_factor): expected an even number above 0, at most all"
        )
    eos = raw.get("eos_token_id")
    ends = tuple(eos) if isinstance(eos, list) else (() if eos is None else (eos,))
    for token in ends:
        if not is_whole(token, 0):
            raise ModelFileError(f"{source}: eos_token_id is {eos!r}: expected token numbers")
    made = ModelConfig(
        model_type=kind,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        wide=whole("intermediate_size", 4 * hidden),
        vocab=whole("vocab_size"),
        epsilon=number("rms_norm_eps", 1e-6),
        positions=whole("max_position_embeddings", 4096),
        rope_theta=float(rope.get("rope_theta") or 10000.0),
        rotary_dim=rotary,
        rope_neighbours=bool(raw.get("rope_neighbours", False)),
        tied=raw.get("tie_word_embeddings") is not False,
        activation=str(raw.get("hidden_activation") or raw.get("hidden_act") or "silu"),
        eos=ends,
        raw=raw,
    )
    try:
        _ = made.scaling
    except ModelFileError as error:
        raise ModelFileError(f"{source}: {error}") from None
    except KeyError as error:
        raise ModelFileError(f"{source}: rope_scaling: {error.args[0]} is missing") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelFileError(f"{source}: rope_scaling: {error}") from None
    return made


def _parameters(raw: dict[str, Any]) -> dict[str, Any]:
    """Newer files have the RoPE settings in one object, by layer type if they differ."""
    made = raw.get("rope_parameters") or {}
    made = made.get("full_attention", made) if isinstance(made, dict) else {}
    return made if isinstance(made, dict) else {}


def rope_scaling(
    raw: dict[str, Any], rotary_dim: int, theta: float, positions: int
) -> RopeScalingConfig | None:
    """RoPE scaling: none, linear, dynamic, llama3, yarn or longrope."""
    found = raw.get("rope_scaling") or _parameters(raw)
    kind = found.get("rope_type", found.get("type", "default"))
    key = "original_max_position_embeddings"
    original = next((each[key] for each in (found, raw) if each.get(key) is not None), positions)
    if kind in ("default", "mrope", "dynamic"):  # dynamic: only beyond the training length
        return None
    if kind == "linear":
        if not is_positive(found["factor"]):
            raise ModelFileError(f"rope_scaling: factor is {found['factor']!r}: expected above 0")
        return LinearRopeScaling(float(found["factor"]))
    if kind == "llama3":
        return Llama3RopeScalingConfig(
            found["factor"], found["low_freq_factor"], found["high_freq_factor"], original
        )
    if kind == "yarn":
        return YarnRopeScalingConfig(
            found["factor"],
            original,
            rotary_dim,
            theta,
            found.get("beta_fast") or 32,
            found.get("beta_slow") or 1,
            found.get("mscale") or 1,
            found.get("mscale_all_dim") or 0,
        )
    if kind in ("longrope", "su"):
        factor = found.get("factor") or positions / (original if is_whole(original, 1) else 1)
        return LongRopeScalingConfig(found["short_factor"], found["long_factor"], original, factor)
    raise ModelFileError(f"rope_scaling: type {kind!r}: expected linear, llama3, yarn or longrope")


class LinearRopeScaling(RopeScalingConfig):
    """Positions divided by a factor."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def freq_scales(self, inv_freq: Any) -> list[tuple[int, list[float]]]:
        return [(0, [1 / self.factor] * len(inv_freq))]


class _OneRange(RopeScalingConfig):
    """The same factors at all positions."""

    def __init__(self, scales: list[float], magnitude: float) -> None:
        self._scales, self.magnitude = scales, magnitude

    def freq_scales(self, inv_freq: Any) -> list[tuple[int, list[float]]]:
        return [(0, self._scales)]


def one_range(scales: list[float]) -> RopeScalingConfig:
    """These factors at all positions."""
    return _OneRange(scales, 1.0)


def both_ranges(scaling: LongRopeScalingConfig) -> tuple[RopeScalingConfig, RopeScalingConfig]:
    """The factors of short and of long requests, each at all positions."""
    short, long = (
        _OneRange([1 / each for each in factors], scaling.magnitude)
        for factors in (scaling.short_factor, scaling.long_factor)
    )
    return short, long
