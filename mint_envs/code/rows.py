"""Rows of data sets as problems. A row is recognised by its columns; every error names the row."""

from __future__ import annotations

import re

from ..datasets import Row, load_rows, read_each
from ..errors import DatasetError, SettingError
from .needed import packages_of
from .packages import refuse_missing
from .problems import CodeProblem
from .readers import READERS, Reader

#: Columns by whose names a verdict is not what the tests alone would make it.
_TELLING = re.compile(
    r"checker|interact|special_?judge|\bspj\b|validator|tolerance|compare|"
    r"(time|memory|output|stack)_?limit|input_(mode|file)|output_file",
    re.IGNORECASE,
)


def load_code_problems(
    dataset: str, split: str | None = None, python: str | None = None, skip: bool = False
) -> list[CodeProblem]:
    """Return the problems of a JSONL or Parquet file or a Hugging Face data set.

    Args:
        dataset: as ``load_rows`` takes it.
        split: as ``load_rows`` takes it.
        python: the virtual environment that programs have.
        skip: leave out rows that are refused, with a warning that counts them.

    Raises:
        DatasetError: it is missing or broken, or a row is of no known form, or is refused: its
            tests cannot all be run, the verdict would be the program's own, or it needs a package
            that is missing. With ``skip``, all rows are.
    """

    def read(row: Row, number: int) -> CodeProblem:
        return read_code_row(row, dataset, number, python)

    return read_each(load_rows(dataset, split), read, skip)


def read_code_row(
    row: Row, source: str = "rows", number: int = 1, python: str | None = None
) -> CodeProblem:
    """Return the problem of one row.

    Raises:
        DatasetError: as ``load_code_problems``.
    """
    problem = problem_of_row(row, source, number)
    try:
        refuse_missing(packages_of(problem), python)
    except SettingError as error:
        raise DatasetError(f"row {number} of dataset={source!r}: {error}") from error
    return problem


def problem_of_row(row: Row, source: str = "rows", number: int = 1) -> CodeProblem:
    """Return the problem of one row, whatever packages it needs.

    Raises:
        DatasetError: as ``load_code_problems``.
    """
    reader = reader_of(row)
    if reader is None:
        known = "; ".join(f"{one.name} ({' + '.join(one.columns)})" for one in READERS)
        raise DatasetError(
            f"row {number} of dataset={source!r} has the fields {', '.join(map(str, row))}, which "
            f"is no known form. Known by their fields: {known}."
        )
    try:
        _refuse_untold(row, reader)
        return reader.read(row)
    except (SettingError, ValueError, TypeError, KeyError, AttributeError, LookupError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise DatasetError(
            f"row {number} of dataset={source!r}, read as {reader.name}: {said}"
        ) from error


def reader_of(row: Row) -> Reader | None:
    """Return the reader of a row's form, or None if that is not known."""
    return next((reader for reader in READERS if reader.fits(row)), None)


def _refuse_untold(row: Row, reader: Reader) -> None:
    """Refuse a column that changes the verdict and that the reader does not read.

    Raises:
        SettingError: there is one, and it is not empty.
    """
    for key, value in row.items():
        empty = value is None or value is False or value in ("", [], {})
        if not empty and _TELLING.search(str(key)) and key not in reader.understands:
            kind = "interactive problems" if "interact" in str(key).lower() else "it"
            raise SettingError(f"{key}={value!r:.60}: {kind} cannot be judged yet")
