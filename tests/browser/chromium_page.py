"""Opens a page in headless Chromium and keeps what the browser complains of."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1200, "height": 900}

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None


def skip_without_browser():
    """Ends the program with a word where pages cannot be opened."""
    if CHROMIUM and sync_playwright:
        return
    missing = "the package playwright" if CHROMIUM else "chromium"
    print(f"skipped: {missing} is not installed; scripts/test installs it "
          "where apt-get and pip can")
    sys.exit(SKIPPED)


class PageTest(unittest.TestCase):
    """Pages of one program. BINARY and ROOT come from the command line."""

    BINARY = ROOT = None

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(executable_path=CHROMIUM,
                                                 args=FLAGS)
        cls.addClassCleanup(cls.browser.close)

    def foretell(self, *arguments, status=0):
        outcome = subprocess.run([self.BINARY, *map(str, arguments)],
                                 capture_output=True, text=True, timeout=300)
        self.assertEqual(outcome.returncode, status, outcome.stderr)
        return outcome.stdout

    def open(self, path, size=DESK, scheme="light"):
        """The page of a file, drawn; complaints and requests are kept."""
        self.complaints, self.requests = [], []
        context = self.browser.new_context(viewport=size, color_scheme=scheme)
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_timeout(300)
        self.keep_picture(page, path, size, scheme)
        return page

    def keep_picture(self, page, path, size, scheme):
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            name = f"{path.stem}-{size['width']}-{scheme}.png"
            page.screenshot(path=pathlib.Path(folder) / name, full_page=True)

    def expect_sound(self, page, path):
        """Nothing went wrong, was loaded, or is wider than the screen."""
        self.assertEqual(self.complaints, [])
        self.assertEqual(self.requests, [path.as_uri()])
        wide = page.evaluate("document.documentElement.scrollWidth"
                             " - document.documentElement.clientWidth")
        self.assertLessEqual(wide, 0)


def main(tests):
    """Runs the tests of a module: PROGRAM BINARY ROOT [unittest arguments]."""
    skip_without_browser()
    PageTest.BINARY = sys.argv.pop(1)
    PageTest.ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main(module=tests)
