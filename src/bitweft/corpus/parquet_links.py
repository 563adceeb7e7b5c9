"""Links as a table in Parquet: a row for each pair, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.links.alignment import Entry
from bitweft.links.formats.registry import LINK_FORMATS
from bitweft.storage.output import open_binary, open_output

PARQUET = "parquet"
ROWS = 65_536  # of a group: as many are held at a time
FORMATS = (*LINK_FORMATS, PARQUET)  # that links of a text can be written in


class ParquetLinks:
    """Write rows of links (`0-0 1-2`), score, and the links' probabilities."""

    def __init__(self, stream: BinaryIO) -> None:
        with needs("parquet"):
            import pyarrow
            from pyarrow.parquet import ParquetWriter
        fields = {
            "links": pyarrow.string(),
            "score": pyarrow.float64(),
            "probabilities": pyarrow.list_(pyarrow.float32()),
        }
        self._schema = pyarrow.schema(list(fields.items()))
        self._batch = pyarrow.RecordBatch
        self._writer = ParquetWriter(stream, self._schema, compression="zstd")
        self._rows: list[dict[str, object]] = []

    def put(self, entry: Entry) -> None:
        """Take the next pair."""
        alignment = entry.alignment
        chances = None if alignment.probabilities is None else list(alignment.probabilities)
        self._rows.append({"links": str(alignment), "score": entry.score, "probabilities": chances})
        if len(self._rows) == ROWS:
            self._write()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        self._write()
        self._writer.close()

    def _write(self) -> None:
        if self._rows:
            self._writer.write_batch(self._batch.from_pylist(self._rows, self._schema))
            self._rows = []


@contextmanager
def open_links(path: str | None, link_format: str, *, force: bool = False) -> Iterator[TextIO | ParquetLinks]:
    """Open what links of this format are written to; the file appears, whole, when the block ends well.

    Raises:
        UsageError: a table can only be written to a file.
        InputError: the file exists, or cannot be written.
    """
    if link_format != PARQUET:
        with open_output(path, force=force) as stream:
            yield stream
        return
    if path is None or path == "-":
        raise UsageError("--to parquet needs a file: give -o FILE")
    with open_binary(path, force=force) as raw:
        table = ParquetLinks(raw)
        yield table
        table.close()
