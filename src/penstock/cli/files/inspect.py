"""Description of files: formats, records, sizes, schema, first elements and, if requested, verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

import penstock as ps
from penstock.cli.files.amounts import many, size
from penstock.cli.files.formats import Format, group_files
from penstock.cli.files.index import source_of
from penstock.cli.files.stored import unwrap_example
from penstock.cli.files.words import lines_of
from penstock.cli.terminal import Terminal
from penstock.core.errors import DataError
from penstock.storage.sidecar import check_mapped

_READ_AT_ONCE = 1024  # records
_MOST_FAULTS = 20  # shown
_SAMPLED = 1000  # records whose features are inspected


def inspect(
    patterns: Sequence[str], terminal: Terminal, *, name: str | None = None, elements: int = 1, verify: bool = False
) -> bool:
    """Show the contents of the files that match; return whether everything read was readable."""
    shown = [_show(known, paths, terminal, elements, verify) for known, paths in group_files(patterns, name)]
    return all(shown)


def _show(known: Format, paths: list[str], terminal: Terminal, elements: int, verify: bool) -> bool:
    try:
        parts = known.parts(paths)
    except (DataError, OSError) as error:
        terminal.heading(known.heading(paths))
        terminal.say(f"cannot be read: {error}")
        return False
    shown: list[bool] = []
    for some, dataset in parts:
        named = "" if len(parts) == 1 else f" ({some[0]})"
        terminal.heading(f"{known.heading(some)}{named}")
        shown.append(_show_dataset(known, dataset, terminal, elements, verify))
    return all(shown)


def _show_dataset(known: Format, dataset: ps.Dataset[Any], terminal: Terminal, elements: int, verify: bool) -> bool:
    try:
        count = dataset.cardinality()
        spec = dataset.element_spec
    except (DataError, OSError) as error:
        terminal.say(f"cannot be read: {error}")
        return False
    terminal.show(f"records   {f'{count:,}' if count >= 0 else 'known only by reading: it is a stream'}")
    _show_sizes(dataset, terminal)
    terminal.show(f"element   {spec!r}")
    _show_features(known, dataset, terminal)
    shown = _show_elements(dataset.take(elements), terminal)
    return (_verified(dataset, terminal) if verify else True) and shown


def _show_elements(first: ps.Dataset[Any], terminal: Terminal) -> bool:
    """Show the elements, up to an unreadable one, for which only the error is shown."""
    try:
        for i, element in enumerate(first):
            terminal.show(f"\nelement {i}")
            terminal.show("\n".join(lines_of(unwrap_example(element))), 6)
    except (DataError, OSError) as error:
        terminal.say(f"element   cannot be read: {error}")
        return False
    return True


def _show_sizes(dataset: ps.Dataset[Any], terminal: Terminal) -> None:
    """Show the lengths of the records, if an index has them."""
    sidecars = getattr(source_of(dataset), "sidecars", [])
    offsets = [sidecar.arrays["offsets"] for sidecar in sidecars if "offsets" in sidecar.arrays]
    lengths = np.concatenate([np.diff(of_file) for of_file in offsets]) if offsets else np.empty(0)
    check_mapped(sidecars)
    if len(lengths):
        least, middle, most = np.percentile(lengths, [0, 50, 100])
        terminal.show(f"sizes     {size(least)} to {size(most)}, half of them up to {size(middle)}, with their framing")


def _show_features(known: Format, dataset: ps.Dataset[Any], terminal: Terminal) -> None:
    """Show the features of records that are tf.train.Examples."""
    if known.reader != "read_tfrecord":
        return
    try:
        some = list(islice(dataset, _SAMPLED))
        features = ps.records.infer_features(some)
    except DataError:
        terminal.show("features  the records are not tf.train.Examples")
        return
    terminal.show(f"features  of the first {many(len(some), 'record')}, as for parse_example:")
    terminal.show(repr(features), 6)


def _verified(dataset: ps.Dataset[Any], terminal: Terminal) -> bool:
    """Read everything, and show the unreadable records."""
    read, faults = 0, 0
    with terminal.live() as replace:
        for count, fault in _reading(dataset):
            read += count
            replace(f"   reading: {many(read, 'record')}")
            if fault is not None:
                faults += 1
                if faults <= _MOST_FAULTS:
                    replace("")
                    terminal.say(f"damaged   {fault}")
    if faults > _MOST_FAULTS:
        terminal.say(f"damaged   and {faults - _MOST_FAULTS:,} more")
    terminal.show(f"verified  {many(read, 'record')} read, {faults:,} damaged")
    return not faults


def _reading(dataset: ps.Dataset[Any]) -> Iterator[tuple[int, Exception | None]]:
    """Read all records, in runs; yield the number of readable ones, and the error of one that is not."""
    source = source_of(dataset)
    if source is None or not 0 <= dataset.cardinality() == source.length:
        try:
            for _ in dataset:
                yield 1, None
        except (DataError, OSError) as error:
            yield 0, error
        return
    low = 0
    while low < source.length:
        high = min(low + _READ_AT_ONCE, source.length)
        try:
            source.read_many(np.arange(low, high))
            yield high - low, None
            low = high
        except (DataError, OSError) as error:
            element = getattr(error, "element", None)
            if element is None:
                yield 0, error
                return
            yield element, error
            low += element + 1
