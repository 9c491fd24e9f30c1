"""The lines of text files that are compressed as a whole, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.kernels.lines import MARK, Wanted
from penstock.sources.stream import LARGEST, READ_AT_ONCE, Compressed, content_of_files, with_faults
from penstock.sources.text.lines import LineError, LineFiles
from penstock.storage.compression import compression_of, first_bytes, open_decompressed

_BLOCKS_OF_BZIP2 = (b"1AY&SY", b"\x17rE8P\x90")


@frozen(eq=False)
class LineStream(Compressed[LineFiles]):
    """The elements that `form` makes of lines, file by file, each decompressed by `compressions[i]`, if not `None`."""

    def read(self, file: int, /) -> Iterator[Chunk]:
        path, number, form = self.paths[file], 0, self.form
        with open_decompressed(path, self.compressions[file]) as content:
            for block in _blocks(content, path):
                lines = (block if number else block.removeprefix(MARK)).split(b"\n")
                end = len(lines) - 1  # after the last line end there is nothing, except in the last block
                lines[:end] = [line.removesuffix(b"\r") for line in lines[:end]]
                if not lines[-1]:
                    lines.pop()
                wanted = [i for i, line in enumerate(lines) if number + i >= form.skip_lines and self._is_wanted(line)]
                yield from self._made([lines[i] for i in wanted], [number + i + 1 for i in wanted], path)
                number += len(lines)

    def _made(self, lines: list[bytes], numbers: list[int], path: str) -> Iterator[Chunk]:
        """Yield the elements of some lines, with these numbers in their file."""

        def make(low: int, high: int) -> Chunk:
            try:
                return self.form.made_of(lines[low:high])
            except LineError as error:
                raise error.placed(f"{path}, line {numbers[low + error.index]}", None) from error.__cause__

        return with_faults(len(lines), make)

    def _is_wanted(self, line: bytes) -> bool:
        wanted = self.form.wanted
        return wanted == Wanted.ALL or bool(line.strip(b" \t\r") if wanted == Wanted.NOT_BLANK else line)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return a digest of the sizes and content of the files, and the form of the text."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        return ("line stream", content_of_files(self.paths), self.form.wanted.name, *self.form.reading())


def _blocks(content: IO[bytes], path: str) -> Iterator[bytes]:
    """Yield whole lines, about a megabyte at a time; the last may lack its end."""
    parts: list[bytes] = []
    size = 0
    while more := content.read(READ_AT_ONCE):
        cut = more.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, more[:cut]])
            parts, size = [], 0
        parts.append(more[cut:])
        size += len(more) - cut
        if size > LARGEST:
            raise DataError(f"{path} has a line of more than {LARGEST} bytes, which is too long for a compressed file")
    if last := b"".join(parts):
        yield last


def compression_of_text(path: str) -> str | None:
    """Return the compression of a text file, by its first bytes."""
    head = first_bytes(path)
    found = compression_of(head)
    is_text = found == "bz2" and head[4:10] not in _BLOCKS_OF_BZIP2  # text that begins with BZh
    return None if is_text else found
