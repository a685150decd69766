"""The chat page, in a browser without a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.requirements import BROWSERS, need

from .served import SECONDS, Served

pytestmark = pytest.mark.requires("llm")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    need("playwright", "chromium")
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def page(browser: Any, server: Any) -> Iterator[Any]:
    made = browser.new_page()
    made.set_default_timeout(SECONDS * 1000)
    problems: list[str] = []
    made.on("pageerror", lambda error: problems.append(str(error)))
    # Requests go only to this server: the page works offline.
    made.on("request", lambda r: problems.append(r.url) if str(server.port) not in r.url else None)
    made.goto(f"http://127.0.0.1:{server.port}/")
    yield made
    made.close()
    assert not [each for each in problems if not each.startswith("data:")]


_STOP_SOON = """() => new Promise(done => {
    const stop = [...document.querySelectorAll('button')].find(b => b.textContent.trim() == 'Stop');
    const look = () => {
        const text = document.querySelector('li.assistant .text');
        if (text && text.textContent.length > 5) { stop.click(); done(); }
        else setTimeout(look, 2);
    };
    look();
})"""


def ask(page: Any, text: str, tokens: int) -> None:
    page.evaluate("n => { document.getElementById('tokens').value = n; }", tokens)
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def test_a_conversation(page: Any) -> None:
    page.get_by_text("small", exact=True).wait_for()
    ask(page, "Hello <b>there</b>", 12)
    page.locator(".note", has_text="tokens in").wait_for()
    assert page.locator("li.user .text").inner_text() == "Hello <b>there</b>"
    assert page.locator("li.assistant .text").inner_text()
    assert page.get_by_role("button", name="Send").is_visible()
    assert not page.get_by_role("button", name="Stop").is_visible()
    ask(page, "And again", 12)
    page.locator(".note", has_text="tokens in").nth(1).wait_for()
    assert page.locator("li").count() == 4
    page.get_by_role("button", name="Clear").click()
    assert page.locator("li").count() == 0


def test_the_stop_button_ends_the_request(page: Any, server: Any) -> None:
    cancelled = server.metric('outputs_total{reason="cancelled"}')
    ask(page, "Hello", 3500)
    # Inside the page: the whole answer takes a second, which a click from outside may miss.
    page.evaluate(_STOP_SOON)
    page.get_by_text("stopped").first.wait_for()
    server.until('outputs_total{reason="cancelled"}', cancelled + 1)
    server.until('cache_blocks{state="used"}', 0)


def test_errors_are_shown(page: Any) -> None:
    ask(page, "Hello", 5000)
    page.get_by_text("expected at most 4096 in all").first.wait_for()
    assert page.get_by_role("button", name="Send").is_visible()


def test_every_control_has_a_name(page: Any) -> None:
    page.get_by_text("Settings", exact=True).click()
    for element in page.locator("button:visible, input:visible, textarea:visible").all():
        name = element.evaluate("e => e.labels && e.labels.length ? 'label' : e.textContent.trim()")
        assert name, element.evaluate("e => e.outerHTML")


def test_dark_and_light(browser: Any, server: Any) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(f"http://127.0.0.1:{server.port}/")
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert len(colours) == 2


def test_the_key(browser: Any, folder: Path) -> None:
    server = Served(folder, key="secret", cache_tokens=4096)
    try:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.port}/")
        page.get_by_text("needs an API key").wait_for()
        page.get_by_text("Settings", exact=True).click()
        page.get_by_label("API key").fill("secret")
        page.get_by_label("API key").blur()
        page.get_by_text("small", exact=True).wait_for()
        page.close()
    finally:
        server.close()
