"""The back end to clone: it builds alone, and passes everything that needs no asynchrony."""

from __future__ import annotations

from kit import process

from .conftest import NULL


def test_it_is_small():
    assert len(NULL.read_text().splitlines()) <= 300


def test_it_is_found_beside_the_cpu(null):
    said = process.python(
        "print([(i.name.decode(), i.device_count) for i in rt.backends() if i.device_count], "
        "rt.kind())",
        INFINI_BACKEND_PATH=str(null),
        INFINI_DEVICE=None,
    )
    assert said.strip() == "[('cpu', 1), ('null', 1)] null"


def test_the_suites_pass_on_it(null):
    said = process.suite(
        str(process.TESTS / "runtime"),
        "--device",
        "null",
        "--backend",
        str(null),
        INFINI_BACKEND_PATH=None,
    )
    assert "failed" not in said
    assert int(said.split(" passed")[0].split()[-1]) > 300, said
