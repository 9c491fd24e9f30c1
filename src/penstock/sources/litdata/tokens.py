"""Tokens of LitData's chunks, as blocks of a fixed length."""

from __future__ import annotations

import os
from collections.abc import Collection

from penstock.core.cached import cached_property
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.kernels.records import RecordReader
from penstock.sources.litdata.folder import CALL, dtype_of, open_folder
from penstock.sources.records.fixed import FixedFiles
from penstock.sources.unreadable import OfFiles, WithUnreadable, with_unreadable
from penstock.storage.local import file_size, is_file
from penstock.storage.state import states_of


@frozen(eq=False)
class TokenBlocks(FixedFiles):
    """Blocks of tokens; an incomplete block at the end of a chunk is left out."""

    heads: tuple[int, ...] = ()
    """Bytes before the tokens of each chunk."""

    @cached_property
    def reader(self) -> RecordReader:
        """The reader of the blocks."""
        step = self.record_bytes
        sizes = [state.size for state in self.states]
        begins = [range(h, h + (size - h) // step * step, step) for h, size in zip(self.heads, sizes, strict=True)]
        return self._reader(begins, [range(part.start + step, part.stop + step, step) for part in begins])


def litdata_tokens(folder: str | os.PathLike[str], block_size: int) -> OfFiles | WithUnreadable:
    """Return the tokens of a folder that was written for LitData's `TokensLoader`, `block_size` at a time."""
    index, config, shards = open_folder(folder)
    formats = config.names("data_format")
    kind, _, number = formats[0].partition(":") if formats else ("", "", "")
    if config.get("item_loader", str, "") != "TokensLoader" or len(formats) != 1 or not kind.startswith("no_header_"):
        raise PlanError(f"{CALL}(block_size={block_size}): {index.path} has samples, not tokens; remove block_size=")
    if config.get("compression", str, None) is not None:
        raise PlanError(
            f"{CALL}: the tokens are compressed according to {index.path}, so blocks cannot be found; write them again "
            "without compression"
        )
    dtype = dtype_of(config, kind, number)
    told = {
        shard.path: (shard.samples, part.count("dim"))
        for shard, part in zip(shards, index.parts("chunks"), strict=True)
    }
    step = block_size * dtype.itemsize
    shown = f"{CALL}({os.fspath(folder)!r})"

    def head(path: str) -> int:
        return 4 * (told[path][0] + 2)

    def look(path: str) -> None:
        found, expected = file_size(path), head(path) + told[path][1] * dtype.itemsize
        if found != expected:
            raise DataError(
                f"{path} has {found} bytes; index.json says {expected}: it was cut short, or is another file"
            )

    def make(paths: list[str], torn: Collection[str]) -> TokenBlocks:
        for path in paths:
            if path not in torn:
                look(path)
        heads = tuple(map(head, paths))
        return TokenBlocks(paths, states_of(paths), step, 0, 0, dtype, (block_size,), shown, heads)

    return with_unreadable(list(told), make, look, is_file)
