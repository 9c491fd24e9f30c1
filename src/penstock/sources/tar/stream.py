"""Tar archives that are compressed as a whole: their samples in order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import Spec
from penstock.kernels.tar import Samples, SamplesOfArchives, scan_tar_bytes
from penstock.sources.protocol import Called
from penstock.sources.stream import LARGEST, READ_AT_ONCE, content_of_files, with_faults
from penstock.sources.tar.samples import Shape, Where, lacking
from penstock.storage.compression import open_decompressed


@frozen(eq=False)
class TarStream:
    """The samples of some archives, each decompressed by `compressions[i]`, if not `None`."""

    paths: list[str]
    compressions: list[str | None]
    shape: Shape
    name: str

    @property
    def called(self) -> Called | None:
        """The user's functions that decode files, if any."""
        return self.shape.decoders.called

    def spec(self) -> Spec:
        return self.shape.spec()

    def read(self, file: int, /) -> Iterator[Chunk]:
        path = self.paths[file]
        buffer, offset = b"", 0  # the buffer, and its position in the content
        missing = READ_AT_ONCE
        with open_decompressed(path, self.compressions[file]) as content:
            while True:
                more = content.read(missing)
                buffer += more
                samples, needed, failure = scan_tar_bytes(buffer, path, whole=not more, offset=offset)
                whole = len(samples) if not more else max(len(samples) - 1, 0)  # the last one may be incomplete
                yield from with_faults(whole, partial(self._chunk, samples, buffer, offset, path))
                if failure is not None:
                    raise failure
                if not more:
                    return
                done = int(samples.heads[samples.members[whole]]) if len(samples) else 0
                buffer = buffer[done:]
                offset += done
                if max(needed, len(buffer)) > LARGEST:
                    raise DataError(
                        f"{path}: from byte {offset} of its content on there is a sample of more than {LARGEST} bytes, "
                        "the limit for a sample of a compressed archive"
                    )
                missing = min(max(needed, READ_AT_ONCE), max(len(buffer), READ_AT_ONCE))

    def _chunk(self, samples: Samples, buffer: bytes, offset: int, path: str, low: int, high: int) -> Chunk:
        """Return samples `low` to `high` of those in the buffer."""
        found, rows = SamplesOfArchives([samples], self.shape.extensions), np.arange(low, high)
        members, missing = found.members(rows)
        lacked = self.shape.first_missing(members) if missing else None
        if lacked is not None:
            at, part = lacked
            error = lacking(samples, low + at, part, path, offset)
            error.element = at
            raise error
        begins, ends = samples.begins.tolist(), samples.ends.tolist()
        contents: list[list[bytes | None]] = [
            [None if member < 0 else buffer[begins[member] : ends[member]] for member in column]
            for column in members.T.tolist()
        ]

        def where(i: int, part: int) -> Where:
            member = int(members[i, part])
            extension = samples.extensions[int(samples.extension[member])]
            return Where(
                extension,
                f"{path}: '{samples.key(low + i)}.{extension}', at byte {offset + begins[member]} of its content",
            )

        return self.shape.chunk(found.keys(rows), contents, where)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the entries of elements, and a digest of the sizes and content of the archives."""
        return ("tar stream", *self.shape.fingerprint(), self._content)

    @cached_property
    def _content(self) -> str:
        return content_of_files(self.paths)
