"""Tokenizers from the metadata of GGUF files."""

from __future__ import annotations

from typing import Any

from infinicore.llm.files.stored import ModelFileError
from infinicore.llm.tokenizer import Tokenizer

_NORMAL, _CONTROL, _USER, _BYTE = 1, 3, 4, 6
_MOST_LETTERS = 256  # in a word that is merged from others
_SPACE = "\u2581"  # stands for a space in SentencePiece's words

# How text is split before pairs are merged (pre-tokenization), by the name in the file.
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_PATTERNS = {
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "qwen2": _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"),
}
_SINGLE_DIGITS = ("smollm", "starcoder", "refact", "command-r", "codeshell")


def tokenizer_of(metadata: dict[str, Any], source: str) -> Tokenizer:
    """Builds the tokenizer from the file's words, merges and scores."""
    kind = metadata.get("tokenizer.ggml.model")
    words = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelFileError(f"{source}: tokenizer.ggml.tokens is missing")
    kinds = metadata.get("tokenizer.ggml.token_type") or [_NORMAL] * len(words)
    if not isinstance(kinds, list) or len(kinds) != len(words):
        raise ModelFileError(
            f"{source}: tokenizer.ggml.token_type: expected a list of {len(words)} numbers"
        )
    makers = {"gpt2": _byte_pairs, "llama": _sentence_pieces}
    if not isinstance(kind, str) or kind not in makers:
        raise ModelFileError(
            f"{source}: tokenizer.ggml.model is {kind!r}: expected one of {', '.join(makers)}"
        )
    try:
        inner = makers[kind](metadata, words, source)
    except ModelFileError:
        raise
    except Exception as error:  # the package raises no more specific type
        raise ModelFileError(f"{source}: the tokenizer is refused: {error}") from None
    inner.add_special_tokens([w for w, k in zip(words, kinds, strict=True) if k == _CONTROL])
    inner.add_tokens([w for w, k in zip(words, kinds, strict=True) if k == _USER])

    def word(which: str) -> str | None:
        number = metadata.get(f"tokenizer.ggml.{which}_token_id")
        if not isinstance(number, int) or not 0 <= number < len(words):
            return None
        return str(words[number])

    adds = metadata.get("tokenizer.ggml.add_bos_token", kind == "llama")
    template = metadata.get("tokenizer.chat_template")
    template = template if isinstance(template, str) else None
    return Tokenizer(inner, template, word("bos"), word("eos"), bool(adds))


def _byte_pairs(metadata: dict[str, Any], words: list[str], source: str) -> Any:
    """GPT-2's (byte-level BPE): bytes as letters, merged by rank."""
    from tokenizers import Regex, decoders, models, pre_tokenizers
    from tokenizers import Tokenizer as Inner

    merges = metadata.get("tokenizer.ggml.merges")
    if not isinstance(merges, list) or not all(isinstance(pair, str) for pair in merges):
        raise ModelFileError(f"{source}: tokenizer.ggml.merges is missing, or no list of texts")
    vocabulary = {word: i for i, word in enumerate(words)}
    cuts = (pair.partition(" ") for pair in merges)
    known = [
        (left, right)
        for left, space, right in cuts
        if space and left in vocabulary and right in vocabulary and left + right in vocabulary
    ]
    made = Inner(models.BPE(vocabulary, known, ignore_merges=True))
    name = str(metadata.get("tokenizer.ggml.pre", "default"))
    if name in _PATTERNS:
        cut = pre_tokenizers.Split(Regex(_PATTERNS[name]), behavior="isolated")
        letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        made.pre_tokenizer = pre_tokenizers.Sequence([cut, letters])
    else:
        letters = pre_tokenizers.ByteLevel(add_prefix_space=False)
        digits = [pre_tokenizers.Digits(True)] if name in _SINGLE_DIGITS else []
        made.pre_tokenizer = pre_tokenizers.Sequence([*digits, letters])
    made.decoder = decoders.ByteLevel()
    return made


def _sentence_pieces(metadata: dict[str, Any], words: list[str], source: str) -> Any:
    """SentencePiece's: letters merged by score, with bytes for unknown letters."""
    from tokenizers import Tokenizer as Inner
    from tokenizers import decoders, models, normalizers

    scores = metadata.get("tokenizer.ggml.scores")
    if not isinstance(scores, list) or len(scores) != len(words):
        raise ModelFileError(f"{source}: tokenizer.ggml.scores is missing or too short")
    vocabulary = {word: i for i, word in enumerate(words)}
    merges = []
    for word, score in zip(words, scores, strict=True):
        for cut in range(1, len(word) if len(word) <= _MOST_LETTERS else 0):
            left, right = word[:cut], word[cut:]
            if left in vocabulary and right in vocabulary:
                merges.append((-score, vocabulary[left], vocabulary[right], left, right))
    merges.sort()
    unknown = metadata.get("tokenizer.ggml.unknown_token_id", 0)
    has_unknown = isinstance(unknown, int) and 0 <= unknown < len(words)
    made = Inner(
        models.BPE(
            vocabulary,
            [(left, right) for *_, left, right in merges],
            unk_token=words[unknown] if has_unknown else None,
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    begins = metadata.get("tokenizer.ggml.add_space_prefix", True)
    steps = [normalizers.Prepend(_SPACE)] if begins else []
    made.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", _SPACE)])
    ends = [decoders.Strip(" ", left=1)] if begins else []
    made.decoder = decoders.Sequence(
        [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *ends]
    )
    return made
