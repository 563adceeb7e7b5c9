"""Parallel text in two columns of a Parquet file, read a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bitweft.errors import InputError
from bitweft.extras import needs
from bitweft.text.lines import LineFile, Oddities

if TYPE_CHECKING:
    from pyarrow import Schema
    from pyarrow.parquet import ParquetFile

MAGIC = b"PAR1"
ROWS = 4096  # read at a time
_NAMES = (("src", "tgt"), ("source", "target"))


def is_parquet(file: LineFile) -> bool:
    """Tell whether a file is Parquet; pipes that stream are not looked at."""
    return file.starts_with(MAGIC)


def count_rows(file: LineFile) -> int:
    """Count the rows, without reading them."""
    with _opened(file) as table:
        return int(table.metadata.num_rows)


def read_parquet(
    file: LineFile, oddities: Oddities, columns: Sequence[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Give the texts of each row; a row without one is an error or, unless strict, an empty pair."""
    number = 0
    with _opened(file) as table:
        names = list(columns or _text_columns(table.schema_arrow, file.name))
        for name in names:
            if name not in table.schema_arrow.names:
                known = ", ".join(table.schema_arrow.names)
                raise InputError(f"has no column {name!r}, but {known}", file=file.name)
        for batch in table.iter_batches(ROWS, columns=names):
            for pair in zip(*(batch[name].to_pylist() for name in names), strict=True):
                number += 1
                if all(isinstance(text, str) for text in pair):
                    yield pair
                    continue
                if file.strict:
                    raise InputError(f"no text in {' or '.join(names)}", file=file.name, line=number)
                oddities.damaged += 1
                yield "", ""


def _text_columns(schema: Schema, name: str) -> tuple[str, str]:
    """Choose the columns: `src` and `tgt`, `source` and `target`, or the only two of text."""
    for known in _NAMES:
        if set(known) <= set(schema.names):
            return known
    texts = [field.name for field in schema if "string" in str(field.type)]
    if len(texts) != 2:
        found = ", ".join(texts) or "none"
        raise InputError(f"name two columns of text with --keys; there are: {found}", file=name)
    return texts[0], texts[1]


@contextmanager
def _opened(file: LineFile) -> Iterator[ParquetFile]:
    with needs("parquet"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    with file.open() as raw:
        try:
            yield ParquetFile(raw)
        except (ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read as Parquet: {error}", file=file.name) from error
