#!/usr/bin/env python3
"""A picture of the chat page for the docs, in Chromium without a window.

    infini serve smollm2 &
    python tools/chat_picture.py --out docs/images/chat.png

It needs the package playwright, and chromium on the PATH.
"""

from __future__ import annotations

import argparse
import shutil
import sys

QUESTIONS = ["Who are you?", "Why is the sky blue? Answer in two sentences."]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="http://127.0.0.1:8000", metavar="ADDRESS")
    parser.add_argument("--out", default="docs/images/chat.png", metavar="FILE")
    parser.add_argument("--tokens", type=int, default=80, help="of an answer (%(default)s)")
    parser.add_argument("questions", nargs="*", default=QUESTIONS, metavar="QUESTION")
    options = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("chat_picture: no chromium or google-chrome on the PATH", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 620})
        page.set_default_timeout(600_000)
        page.goto(options.server)
        page.evaluate(
            "n => { temperature.value = 0; tokens.value = n; }",
            options.tokens,
        )
        for i, question in enumerate(options.questions):
            page.get_by_label("Message", exact=True).fill(question)
            page.keyboard.press("Enter")
            page.locator(".note", has_text="tokens in").nth(i).wait_for()
        page.screenshot(path=options.out)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
