"""The check of the site finds what is wrong with a page."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import look_at_site
import pytest

NARROW = '<!doctype html><body style="margin:0"><p>Words that fit.</p></body>'
WIDE = '<!doctype html><body style="margin:0"><div style="width:900px">too wide</div></body>'
PICTURE = '<!doctype html><body><div class="md-content"><img src="none.png"></div></body>'


def test_what_is_too_wide_or_missing_is_named(tmp_path: Path) -> None:
    if not any(map(shutil.which, look_at_site.BROWSERS)):
        assert not os.environ.get("CI"), "CI must have Chromium: see .ci/run"
        pytest.skip("needs Chromium: apt-get install chromium")
    for name, text in (("narrow", NARROW), ("wide", WIDE), ("picture", PICTURE)):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    found = look_at_site.look(tmp_path, {})
    assert [line for line in found if "narrow" in line] == []
    assert [line for line in found if "wide.html" in line] == ["/wide.html at 360: 900 wide"]
    assert len([line for line in found if "has no text" in line]) == 2
    assert len([line for line in found if "was not loaded" in line]) == 2
