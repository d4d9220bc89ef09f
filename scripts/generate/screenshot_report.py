#!/usr/bin/env python3
"""Takes docs/images/report.png, the picture of docs/report.md.

    scripts/generate/screenshot_report.py

A report of the ResNet-18 of examples/ in training, opened in Chromium by
tests/browser/chromium_page.py. Not compared by a test: fonts differ from machine to
machine.
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "lib"), str(ROOT / "tests" / "browser")]
import chromium_page  # noqa: E402
import foretell  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "report.png"
RUN = (ROOT / "examples" / "resnet18.pt", "--input", "f32[8,3,224,224]",
       "--mode", "training", "--optimizer", "adam", "--name", "resnet18.pt")
SIZE = {"width": 1000, "height": 1900}


def main():
    chromium_page.skip_without_browser()
    with tempfile.TemporaryDirectory() as folder, \
            chromium_page.sync_playwright() as playwright:
        path = pathlib.Path(folder) / "report.html"
        foretell.run("report", *RUN, "--out", path)
        browser = playwright.chromium.launch(
            executable_path=chromium_page.CHROMIUM, args=chromium_page.FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.goto(path.as_uri())
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
