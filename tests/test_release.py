"""The check before a release sees what does not belong into an archive."""

from __future__ import annotations

import zipfile
from pathlib import Path

import release_check

METADATA = """Metadata-Version: 2.4
Name: mint-envs
Version: 0.1.0
Summary: environments
License-Expression: Apache-2.0
Requires-Python: >=3.11
Keywords: words

Text.
"""


def wheel(folder: Path, *names: str, metadata: str = METADATA) -> Path:
    path = folder / "mint_envs-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("mint_envs/py.typed", *names):
            archive.writestr(name, "")
        archive.writestr("mint_envs-0.1.0.dist-info/METADATA", metadata)
    return path


def test_a_sound_archive_has_no_fault(tmp_path: Path) -> None:
    assert list(release_check.faults_of(wheel(tmp_path, "mint_envs/testing/__init__.py"))) == []


def test_what_does_not_belong_there_is_named(tmp_path: Path) -> None:
    found = wheel(tmp_path, "tests/data/HumanEval.jsonl.gz", "mint_envs/__pycache__/core.pyc")
    faults = list(release_check.faults_of(found))
    assert len(faults) == 2
    assert "holds tests/data/HumanEval.jsonl.gz" in faults[0]


def test_missing_metadata_is_named(tmp_path: Path) -> None:
    told = METADATA.replace("License-Expression: Apache-2.0\n", "").replace("Text.\n", "")
    faults = list(release_check.faults_of(wheel(tmp_path, metadata=told)))
    assert [fault.split(" has ")[1] for fault in faults] == [
        "no License-Expression", "no description"
    ]  # fmt: skip
