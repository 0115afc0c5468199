"""A real browser for pages that are written to files: headless Chromium, without network."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def rendered(page: Path, script: str = "") -> str:
    """Return the page's elements after its scripts have run, and then ``script``."""
    if script:
        text = page.read_text(encoding="utf-8")
        page = page.with_name(f"scripted-{page.name}")
        page.write_text(text.replace("</html>", f"<script>{script}</script></html>"), "utf-8")
    return browse(page, "--dump-dom")


def browse(page: Path, *flags: str) -> str:
    """Open a page with these flags; return what the browser prints. It may complain of nothing.

    Skips where there is no Chromium, but not in CI, which installs it.
    """
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        assert not os.environ.get("CI"), "CI must have Chromium: see .ci/run"
        pytest.skip("needs Chromium: apt-get install chromium")
    done = subprocess.run(
        [
            found, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={page.parent / 'browser-profile'}", "--enable-logging=stderr",
            "--virtual-time-budget=5000", *flags, page.as_uri(),
        ],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
