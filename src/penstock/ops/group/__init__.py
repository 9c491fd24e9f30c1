"""Nodes that combine several elements into one."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "batch",
    "batch_by_tokens",
    "batching",
    "bucket",
    "by_length",
    "group_by_reducer",
    "group_by_window",
    "leafwise",
    "pack",
    "pad",
    "padded",
    "ragged",
    "rebatch",
    "sparse",
    "split_batches",
    "unbatch",
    "uneven",
    "window",
]

if TYPE_CHECKING:
    from penstock.ops.group import (
        batch,
        batch_by_tokens,
        batching,
        bucket,
        by_length,
        group_by_reducer,
        group_by_window,
        leafwise,
        pack,
        pad,
        padded,
        ragged,
        rebatch,
        sparse,
        split_batches,
        unbatch,
        uneven,
        window,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
