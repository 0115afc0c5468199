"""Can this commit be released? ``make release-check``: minutes, from a clean clone.

Builds wheel and source archive from a fresh clone of the commit; looks into both; installs each in
an environment of its own and runs the quick tests on what was installed; and lists the licences of
everything that came with it.
"""

from __future__ import annotations

import argparse
import email
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Megabytes of each archive; 0.1.0 has about a tenth of it.
LARGEST = 8.0
#: What nothing that is published has in it: tests and their data, some of which are of others.
NOT_INSIDE = ("tests/", "runs/", ".git/", "__pycache__", ".env", "shared/")
WANTED_METADATA = (
    "Name",
    "Version",
    "Summary",
    "License-Expression",
    "Requires-Python",
    "Keywords",
)
#: Licences of what is installed beside us that anybody may use; others are named.
FREE = ("mit", "bsd", "apache", "isc", "psf", "python software foundation", "zlib", "unlicense",
        "mozilla public license 2.0", "mpl-2.0", "cc0", "0bsd", "hpnd", "lgpl")  # fmt: skip
EXTRAS = "local,mint,math,judge,mcp,metric,ray,serve,show,test"
_LICENCES = """
import importlib.metadata as m, json
def said(one):
    meta = one.metadata
    found = meta.get("License-Expression") or meta.get("License") or ""
    classes = [c.split("::")[-1] for c in meta.get_all("Classifier") or [] if c[:7] == "License"]
    return " ".join([found.splitlines()[0] if found else "", *classes]).strip()
print(json.dumps({one.metadata["Name"]: said(one) for one in m.distributions()}))
"""


def archives(folder: Path) -> list[Path]:
    """Build both archives from a clean clone; return their paths."""
    clone, out = folder / "clone", folder / "dist"
    _run(["git", "clone", "--quiet", str(ROOT), str(clone)])
    _run([sys.executable, "-m", "build", "--outdir", str(out), str(clone)])
    return sorted(out.iterdir())


def faults_of(archive: Path) -> Iterator[str]:
    """Yield what is wrong with the names, size or metadata of an archive."""
    size = archive.stat().st_size / 1e6
    if size > LARGEST:
        yield f"{archive.name} has {size:.1f} MB, of {LARGEST}"
    names = _names(archive)
    yield from (
        f"{archive.name} holds {name}"
        for name in names
        if any(f"/{part}" in f"/{name}" for part in NOT_INSIDE)
    )
    if not any(name.endswith("mint_envs/py.typed") for name in names):
        yield f"{archive.name} says nothing of its types: mint_envs/py.typed is missing"
    metadata = email.message_from_string(_metadata(archive))
    yield from (f"{archive.name} has no {key}" for key in WANTED_METADATA if not metadata[key])
    if not metadata.get_payload():
        yield f"{archive.name} has no description"


def _names(archive: Path) -> list[str]:
    """Return the names of files, without the folder that a source archive begins with."""
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).namelist()
    with tarfile.open(archive) as tar:
        return [name.partition("/")[2] for name in tar.getnames()]


def _metadata(archive: Path) -> str:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            return wheel.read(name).decode()
    with tarfile.open(archive) as tar:
        member = next(one for one in tar.getmembers() if one.name.count("/") == 1
                      and one.name.endswith("/PKG-INFO"))  # fmt: skip
        found = tar.extractfile(member)
        assert found is not None
        return found.read().decode()


def tried(archive: Path, folder: Path, borrow: Path | None) -> Iterator[str]:
    """Install an archive in a fresh environment and run the quick tests on it; yield faults."""
    place = folder / f"venv-{archive.suffix.strip('.')}"
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    if borrow is None:
        _run([python, "-m", "pip", "install", "--quiet", "torch==2.13.0"])
        _run([python, "-m", "pip", "install", "--quiet", f"{archive}[{EXTRAS}]"])
    else:  # what is installed there already; ours comes first
        (own,) = place.glob("lib/python*/site-packages")
        (theirs,) = borrow.glob("lib/python*/site-packages")
        (own / "base.pth").write_text(f"{theirs}\n", encoding="utf-8")
        build = ["--no-deps", "--no-build-isolation"]
        _run([python, "-m", "pip", "install", "--quiet", *build, str(archive)])
    # -P, and from the clone's tests: the package is the installed one, not a source tree.
    tests = [python, "-P", "-m", "pytest", "-q", "-p", "no:schemathesis", "--quick"]
    done = subprocess.run([*tests, "--rootdir", str(folder / "clone")], cwd=folder / "clone")
    if done.returncode:
        yield f"{archive.name}: quick tests fail on what is installed"
    yield from _unfree(python)


def _unfree(python: str) -> Iterator[str]:
    text = subprocess.run([python, "-c", _LICENCES], capture_output=True, text=True, check=True)
    for name, licence in sorted(json.loads(text.stdout).items()):
        if licence and not any(word in licence.lower() for word in FREE):
            yield f"{name} has the licence {licence!r}: look at it"


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})


def main() -> int:
    """Check; return the exit status."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--borrow", type=Path, help="virtual environment that has the extras")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, faults = Path(name), []
        for archive in archives(folder):
            faults += [*faults_of(archive), *tried(archive, folder, options.borrow)]
            print(f"{archive.name}: {archive.stat().st_size / 1e6:.2f} MB")
    print("\n".join(faults) or "it can be released")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
