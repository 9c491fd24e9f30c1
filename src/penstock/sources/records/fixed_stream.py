"""Records of a fixed length in files that are compressed as a whole, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.structure import LEAF
from penstock.sources.records.fixed import FixedFiles
from penstock.sources.stream import READ_AT_ONCE, Compressed, content_of_files
from penstock.storage.compression import open_decompressed


@frozen(eq=False)
class FixedStream(Compressed[FixedFiles]):
    """The records that `form` describes, file by file, each decompressed by `compressions[i]`, if not `None`."""

    def read(self, file: int, /) -> Iterator[Chunk]:
        path, size, footer = self.paths[file], self.form.record_bytes, self.form.footer_bytes
        with open_decompressed(path, self.compressions[file]) as content:
            if len(content.read(self.form.header_bytes)) < self.form.header_bytes:
                raise DataError(f"{path}: its content ends inside the header of {self.form.header_bytes} bytes")
            rest = b""
            while more := content.read(max(READ_AT_ONCE, size)):
                rest += more
                whole = max(len(rest) - footer, 0) // size * size
                if whole:
                    yield self._records(rest[:whole])
                    rest = rest[whole:]
        if len(rest) != footer:
            raise DataError(
                f"{path}: its content ends with {len(rest)} bytes, where a footer of {footer} bytes was expected; "
                f"it was cut short, or records are not of {size} bytes"
            )

    def _records(self, content: bytes) -> Columns:
        size, dtype = self.form.record_bytes, self.form.dtype
        count = len(content) // size
        if dtype is None:
            return Columns(LEAF, [[content[i : i + size] for i in range(0, len(content), size)]], count)
        values = np.frombuffer(content, dtype).reshape(count, *self.form.shape)
        return Columns(LEAF, [values.astype(dtype.newbyteorder("="))], count)  # a writable copy

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the layout and type of the records, and a digest of the sizes and content of the files."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        form = self.form
        lies = (form.record_bytes, form.header_bytes, form.footer_bytes)
        return ("fixed stream", *lies, str(form.dtype), form.shape, content_of_files(self.paths))
