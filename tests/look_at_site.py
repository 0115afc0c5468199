"""The pages, in a real browser: ``python -m tests.look_at_site build/site``, after ``make docs``.

Every page, as narrow as a telephone and as wide as a screen, light and dark: nothing is wider than
the window, every picture has been loaded and has a text, and nothing complains. The search finds
what a reader would look for. One browser looks at all pages, each in a frame.
"""

from __future__ import annotations

import functools
import html
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = (360, 1280)
#: What is looked for, and a page that must be found.
WORDS = {
    "vector": "api/environments/",
    "sandbox": "sandbox/",
    "mixture": "reference/",
    "GRPO": "grpo/",
    "TRL": "interop/",
    "judge": "chat/",
    "register": "own-environment/",
    "unmeasured": "faq/",
    "install": "install/",
    "grade": "api/grading/",
}
PAGE = """<!doctype html><meta charset="utf-8"><body><script>
const pages = %s, widths = %s, words = %s, found = [];
const sleep = ms => new Promise(done => setTimeout(done, ms));
const wait = () => fetch("/wait");  // in real time, which workers need: timers here run ahead
async function framed(address, width) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = "0";
  const loaded = new Promise(done => frame.onload = done);
  frame.src = address; document.body.append(frame); await loaded;
  return frame;
}
async function look() {
  for (const page of pages) for (const width of widths) {
    const frame = await framed(page, width), inside = frame.contentDocument;
    await sleep(60);
    const root = inside.documentElement;
    if (root.scrollWidth > width + 1) found.push(`${page} at ${width}: ${root.scrollWidth} wide`);
    for (const image of inside.querySelectorAll(".md-content img")) {
      if (!image.alt) found.push(`${page}: ${image.src} has no text`);
      if (!image.naturalWidth) found.push(`${page}: ${image.src} was not loaded`);
    }
    for (const scheme of ["default", "slate"]) {
      inside.body.setAttribute("data-md-color-scheme", scheme);
      const style = frame.contentWindow.getComputedStyle(inside.body);
      if (style.color === style.backgroundColor) found.push(`${page}: unreadable in ${scheme}`);
    }
    frame.remove();
  }
  for (const [word, wanted] of Object.entries(words)) {
    const frame = await framed("/?q=" + encodeURIComponent(word), 1280);
    let links = [];
    for (let tries = 0; tries < 60 && !links.length; tries++) {
      await wait();
      links = [...frame.contentDocument.querySelectorAll(".md-search-result__link")];
    }
    if (!links.some(link => link.href.includes("/" + wanted)))
      found.push(`the search for ${word} finds ${links.map(link => link.href).join(" ")}`);
    frame.remove();
  }
  document.body.innerHTML = "<pre id=found>" + "</pre>";
  document.getElementById("found").textContent = JSON.stringify(found);
  document.title = "done";
}
look().catch(error => { document.body.textContent = "FAILED " + error; });
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing; ``/wait`` takes half a second."""

    def do_GET(self) -> None:
        """Serve a file, or wait."""
        if self.path != "/wait":
            super().do_GET()
            return
        time.sleep(0.5)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def look(site: Path, words: Mapping[str, str] = WORDS) -> list[str]:
    """Return what is wrong with the pages below ``site``, and with the search for ``words``."""
    pages = [f"/{page.relative_to(site).as_posix()}" for page in sorted(site.rglob("*.html"))]
    pages = [page for page in pages if page != "/404.html"]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "site"
        shutil.copytree(site, copy)
        told = [json.dumps(value) for value in (pages, WIDTHS, words)]
        (copy / "look.html").write_text(PAGE % tuple(told), encoding="utf-8")
        handler = functools.partial(Quiet, directory=str(copy))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            text = _dumped(f"http://127.0.0.1:{server.server_port}/look.html", Path(folder))
            server.shutdown()
    match = re.search(r'<pre id="found">(.*?)</pre>', text, re.S)
    if match is None:
        raise SystemExit(f"the browser did not end: {text[-500:]}")
    found: list[str] = json.loads(html.unescape(match[1]))
    return found


def _dumped(address: str, folder: Path) -> str:
    """Return the page's elements once its script has said that it is done."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("needs Chromium: apt-get install chromium")
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1400,1000",
        f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=600000", "--dump-dom",
        address,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=900).stdout


if __name__ == "__main__":
    faults = look(Path(sys.argv[1]))
    print("\n".join(faults) or "every page is as it should be")
    sys.exit(bool(faults))
