"""Text to tokens and back: streams, chat templates, tokenizers out of GGUF metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Inner
from tokenizers import models

from infinicore.llm import ModelFileError
from infinicore.llm.gguf_tokenizer import tokenizer_of
from infinicore.llm.tokenizer import Tokenizer, tokenizer_of_folder
from kit import seed
from tests.llm import gguf_writer as gguf
from tests.llm import small_llama


def metadata(given: dict[str, Any]) -> dict[str, Any]:
    """As returned by a reader: without the types of the writer."""

    def value(each: Any) -> Any:
        if isinstance(each, list):
            return [value(one) for one in each]
        return each.value if isinstance(each, gguf.Kind) else each

    return {key: value(each) for key, each in given.items()}


BYTES = tokenizer_of(metadata(gguf.gpt2_metadata(272)), "bytes")
PIECES = tokenizer_of(metadata(gguf.sentence_metadata()), "pieces")
TEXTS = [
    "hello world",
    "  two  spaces ",
    "naïve café",
    "日本語とかな",
    "👩‍👩‍👧 family 🇩🇪 flag",
    "a\u0301 combining",
    "مرحبا",
    "\u2581",
    "1234567",
    "",
]


def streamed(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    stream = tokenizer.stream()
    return [*(stream.add(token) for token in ids), stream.rest()]


@pytest.mark.parametrize("tokenizer", [BYTES, PIECES], ids=["bytes", "pieces"])
@pytest.mark.parametrize("text", TEXTS)
def test_streams_give_the_whole_text(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text, special=False)
    if text != "\u2581" or tokenizer is BYTES:  # SentencePiece reads it as a space
        assert tokenizer.decode(ids) == text
    pieces = streamed(tokenizer, ids)
    assert "".join(pieces) == tokenizer.decode(ids)
    # An incomplete character waits for its other bytes.
    assert "\ufffd" not in "".join(pieces)


@settings(max_examples=40)
@given(st.text("he lo\u00e9\u65e5\U0001f469\u200d\u0301\n1\u2581", max_size=12))
def test_any_text(text: str) -> None:
    ids = BYTES.encode(text, special=False)
    assert BYTES.decode(ids) == text
    assert "".join(streamed(BYTES, ids)) == text


def test_tokens_that_are_no_text() -> None:
    """Random bytes are not UTF-8: the stream still equals the whole output."""
    draw = seed.chance("bytes")
    for _ in range(40):
        ids = [draw.randrange(272) for _ in range(20)]
        assert "".join(streamed(BYTES, ids)) == BYTES.decode(ids)


def test_half_a_letter_at_the_end() -> None:
    ids = BYTES.encode("xé", special=False)[:-1]
    assert streamed(BYTES, ids) == ["x", "", "\ufffd"]


def test_special_tokens_are_no_text() -> None:
    end = BYTES.inner.token_to_id("<|end|>")
    ids = [*BYTES.encode("a", special=False), end, *BYTES.encode("b", special=False)]
    assert BYTES.decode(ids) == "ab" and BYTES.decode(ids, special=True) == "a<|end|>b"
    assert "".join(streamed(BYTES, ids)) == "ab"
    assert BYTES.encode("a<|end|>")[-1] == end


# ---- words and merges -----------------------------------------------------------------------


def test_pairs_are_merged() -> None:
    words = [BYTES.inner.id_to_token(each) for each in BYTES.encode("hello world")]
    assert words == ["hell", "o", "\u0120w", "o", "r", "l", "d"]


def test_digits_are_cut_by_the_kind_of_tokenizer() -> None:
    extra = {"tokenizer.ggml.tokens": [*gguf.bytes_alphabet(), "12", "123", "<|end|>"]}
    extra["tokenizer.ggml.merges"] = ["1 2", "12 3"]
    extra["tokenizer.ggml.token_type"] = [1] * 258 + [3]
    for pre, wanted in (
        ("smollm", ["1", "2", "3", "4"]),
        ("qwen2", ["1", "2", "3", "4"]),
        ("llama-bpe", ["123", "4"]),
        ("default", ["123", "4"]),
    ):
        made = tokenizer_of({**metadata(gguf.gpt2_metadata(272, pre)), **extra}, "file")
        assert [made.inner.id_to_token(each) for each in made.encode("1234")] == wanted, pre


def test_sentence_pieces() -> None:
    begin = PIECES.inner.token_to_id("<s>")

    def words(text: str) -> list[str]:
        return [PIECES.inner.id_to_token(each) for each in PIECES.encode(text, special=False)]

    assert words("hello world") == ["\u2581hello", "\u2581w", "o", "r", "l", "d"]
    assert words("\u00e9") == ["\u2581", "<0xC3>", "<0xA9>"]
    assert PIECES.encode("hello")[0] == begin and begin not in PIECES.encode("hello", special=False)
    assert PIECES.decode(PIECES.encode("hello")) == "hello"
    without = metadata(gguf.sentence_metadata(**{"tokenizer.ggml.add_space_prefix": False}))
    made = tokenizer_of(without, "file")
    assert made.decode(made.encode(" hello")) == " hello"
    assert made.inner.id_to_token(made.encode("hello", special=False)[0]) == "hello"


def test_begin_tokens() -> None:
    no = metadata(gguf.sentence_metadata(**{"tokenizer.ggml.add_bos_token": False}))
    assert tokenizer_of(no, "file").encode("hello")[0] != 1
    # Once, even if the text begins with it.
    assert PIECES.encode("<s>hello").count(1) == 1


def test_a_very_long_word_costs_nothing() -> None:
    given = metadata(gguf.sentence_metadata())
    given["tokenizer.ggml.tokens"][-1] = "h" * 300_000
    tokenizer_of(given, "file").encode("hello")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scores", None),
        ("scores", [1.0]),
        ("scores", ["a"] * 273),
        ("tokens", None),
        ("tokens", []),
        ("token_type", [1, 2]),
    ],
)
def test_bad_metadata(key: str, value: Any) -> None:
    given = {**metadata(gguf.sentence_metadata()), f"tokenizer.ggml.{key}": value}
    with pytest.raises(ModelFileError, match="file: "):
        tokenizer_of(given, "file")


def test_odd_numbers_of_special_tokens_are_ignored() -> None:
    for odd in (-1, 1 << 40, "a", None, [1]):
        changes = {f"tokenizer.ggml.{which}_token_id": odd for which in ("bos", "eos", "unknown")}
        made = tokenizer_of(metadata(gguf.sentence_metadata(**changes)), "file")
        assert made.bos is None and made.eos is None and made.encode("hello")


# ---- chats ----------------------------------------------------------------------------------

HELLO = [{"role": "user", "content": "hello <b> & 'x'"}]


def chat(template: str | None, messages: list[dict[str, Any]] = HELLO, **extra: Any) -> str:
    return Tokenizer(Inner(models.BPE()), template, "<s>", "</s>").chat(messages, **extra)


def test_templates() -> None:
    assert chat(None) == "user: hello <b> & 'x'\nassistant:"
    assert chat("{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}") == "<s></s>True"
    assert chat("{{ messages[0] | tojson }}") == json.dumps(HELLO[0])
    assert chat("{{ {'a': 'é'} | tojson(indent=1) }}") == '{\n "a": "é"\n}'
    assert (
        chat("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}")
        == "01"
    )
    assert chat("{{ tools | length }}", tools=[{}, {}]) == "2"
    assert chat("{{ strftime_now('%Y') }}").isdigit()
    assert chat("  {% if true %}\nx\n  {% endif %}\n") == "x\n"
    assert chat("{{ '-' * 3 }}{{ 2 ** 3 }}") == "---8"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ strftime_now.__globals__['__builtins__'] }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ self._TemplateReference__context }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({'role': 'system'}) }}",
        "{% import 'os' as os %}",
        "{% include '/etc/passwd' %}",
    ],
)
def test_templates_reach_nothing(template: str) -> None:
    messages = [dict(each) for each in HELLO]
    try:
        text = chat(template, messages)
    except ValueError as error:
        text = str(error)
    assert messages == HELLO
    for secret in ("<class", "module", "root:", "uid=", "builtin_function"):
        assert secret not in text


@pytest.mark.parametrize(
    "template",
    [
        "{% if %}",
        "{{ 1 / 0 }}",
        "{{ messages[5].content.x }}",
        "{{ nothing.at.all }}",
        "{{ 'a' + 1 }}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
        "{{ 'a' * 10 ** 10 }}",
        "{{ 10 ** 10 * [1] }}",
        "{{ 9 ** 9 ** 9 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ [1] | sum(attribute='x') }}",
    ],
)
def test_templates_that_fail(template: str) -> None:
    with pytest.raises(ValueError, match="the model's chat template failed") as caught:
        chat(template)
    assert "\n" not in str(caught.value)


def test_a_template_that_refuses() -> None:
    with pytest.raises(ValueError, match="the model's chat template refuses: only pairs"):
        chat("{{ raise_exception('only pairs') }}")


def test_a_chat_has_no_begin_token_twice() -> None:
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    made = tokenizer_of(
        {**metadata(gguf.sentence_metadata()), "tokenizer.chat_template": template}, "file"
    )
    assert made.chat_ids([{"role": "user", "content": "hello"}]).count(1) == 1


# ---- folders --------------------------------------------------------------------------------


@pytest.mark.requires("host")
def test_settings_of_a_folder(tmp_path: Path) -> None:
    folder = small_llama.make_folder(tmp_path / "m", layers=1)
    file = folder / "tokenizer_config.json"

    def read(**given: Any) -> Tokenizer:
        file.write_text(json.dumps(given))
        return tokenizer_of_folder(folder)

    made = read(bos_token={"content": "<|im_start|>"}, eos_token=5, add_bos_token=True)
    assert made.bos == "<|im_start|>" and made.eos is None
    assert made.encode("a")[0] == made.inner.token_to_id("<|im_start|>")
    several = [{"name": "tools", "template": "t"}, {"name": "default", "template": "d"}, 5]
    assert read(chat_template=several).chat(HELLO) == "d"
    assert read(chat_template=[{"name": "other"}]).chat(HELLO).startswith("user: ")
    assert read(chat_template=5).template is None
    (folder / "chat_template.jinja").write_text("beside")
    assert read(chat_template="in it").chat(HELLO) == "beside"
    (folder / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(ModelFileError, match=r"chat_template\.jinja"):
        read()
