"""Conversion of files to another format: in shards, several at a time, each compared with its source."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from itertools import zip_longest
from multiprocessing import get_context
from typing import Any

import penstock as ps
from penstock.cli.files.amounts import many, size
from penstock.cli.files.formats import SAVED, WHOLE_FILES, Format, find_format, group_files, named_format
from penstock.cli.files.named_files import NamedFiles, image_kinds, root_of
from penstock.cli.files.stored import STORED, ColumnTypes, StoredSample, columns_of, same_stored, sample_of
from penstock.cli.loading import TargetError
from penstock.cli.terminal import Terminal
from penstock.core.checks import without_file_scheme
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.storage.compression import SUFFIXES
from penstock.storage.indexing import indexes_beside
from penstock.storage.remote.file import is_url, path_of_url
from penstock.storage.remote.writing import refuse_existing, write_to_url
from penstock.storage.shards import existing_shards, shard_exists, shard_names

_SAMPLED = 1000  # elements, spread over the files, from which shard sizes and columns are found
_TOLD_EVERY = 1000  # records between two reports of progress


@frozen()
class Conversion:
    """The source and target files: the records `bounds[i]` to `bounds[i + 1]` of `paths` go into the file `names[i]`.

    Files that are one sample each have names below `root`.
    """

    source: str
    paths: list[str]
    root: str
    fingerprint: str
    target: str
    names: list[str]
    bounds: list[int]
    columns: ColumnTypes
    compression: str | None
    rounding: bool


def convert(  # noqa: PLR0913 - one a flag of the command
    patterns: Sequence[str],
    to: str,
    terminal: Terminal,
    *,
    name: str | None = None,
    max_bytes: int | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    compression: str | None = None,
    rounding: bool = False,
) -> bool:
    """Convert the files that match into `to`, a path or a URL, in the format of its extension, or into shards of it.

    All shards get their names at the end, once each has been read again and found equal. An error, such as a sample
    that the format cannot hold, leaves no file. An interrupted conversion continues when it is requested again.
    With `rounding`, numbers that a TFRecord cannot hold exactly are rounded.
    """
    patterns, to = list(map(without_file_scheme, patterns)), without_file_scheme(to)
    plan = _planned(patterns, os.path.expanduser(to), name, max_bytes, compression, rounding=rounding)
    if is_url(to):
        records, nbytes = _send(plan, to, terminal, workers, overwrite=overwrite)
    else:
        records, nbytes = _write(plan, to, terminal, workers, overwrite=overwrite)
    terminal.show(
        f"{plan.source} to {plan.target}: {many(records, 'record')} in {many(len(plan.names), 'file')}, "
        f"{size(nbytes)}; each read again and found the same.",
        0,
    )
    if plan.target == "tar" and plan.source == WHOLE_FILES and len(kinds := image_kinds(plan.paths)) > 1:
        told = ";".join(kinds)
        terminal.show(f'for one image a sample: ps.read_tar({to!r}, columns={{"image": "{told}"}})', 0)
    return True


def _send(plan: Conversion, to: str, terminal: Terminal, workers: int | None, *, overwrite: bool) -> tuple[int, int]:
    """Write the files of a plan in the cache folder, and send them to their URLs; return the records and bytes.

    A conversion to URLs that is interrupted begins anew, since its files are gone.
    """
    made = 0, 0

    def write(local: str) -> list[str]:
        nonlocal made
        folder = os.path.dirname(local)
        here = replace(plan, names=[os.path.join(folder, os.path.basename(each)) for each in plan.names])
        made = _write(here, local, terminal, workers, overwrite=False)
        return here.names

    try:
        if not overwrite:
            refuse_existing(plan.names, None)
        write_to_url(write, to, None, in_shards=plan.names != [to], overwrite=overwrite)
    except (FileExistsError, PlanError) as error:
        raise TargetError(str(error)) from None
    return made


def _write(plan: Conversion, to: str, terminal: Terminal, workers: int | None, *, overwrite: bool) -> tuple[int, int]:
    """Write the files of a plan, unless an interrupted run has; return the number of records and of bytes."""
    todo = _begin(plan, to, overwrite=overwrite)
    try:
        records = _write_all(plan, todo, terminal, workers)
    except Exception:
        _remove(list(map(_hidden, plan.names)))
        os.unlink(_note(to))
        raise
    for final in plan.names:
        _move(_hidden(final), final)
    os.unlink(_note(to))
    return records, sum(map(os.path.getsize, plan.names))


def _write_all(plan: Conversion, todo: list[int], terminal: Terminal, workers: int | None) -> int:
    """Write the remaining shards, under hidden names, and return the number of all records."""
    done = len(plan.names) - len(todo)
    if done:
        terminal.show(f"continuing: {done} of {many(len(plan.names), 'file')} exist already", 0)
    count = min(workers or len(os.sched_getaffinity(0)), max(len(todo), 1))
    records = plan.bounds[-1]
    with terminal.progress("converting", len(plan.names)) as update:
        if count == 1:
            for shard in todo:
                written = _write_shard(plan, shard, lambda note: update(done, note))
                records = written if records == ps.UNKNOWN else records
                update(done := done + 1, "")
        else:
            with ProcessPoolExecutor(count, get_context("spawn")) as pool:
                futures = [pool.submit(_write_shard, plan, shard) for shard in todo]
                try:
                    for future in as_completed(futures):
                        future.result()
                        update(done := done + 1, "")
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
    return records


def _planned(
    patterns: Sequence[str],
    to: str,
    name: str | None,
    max_bytes: int | None,
    compression: str | None,
    *,
    rounding: bool,
) -> Conversion:
    groups = group_files(patterns, name)
    if len(groups) != 1:
        found = ", ".join(
            f"{many(len(paths), 'file')} of {_kind_in_words(known)} ({paths[0]}{', ...' * (len(paths) > 1)})"
            for known, paths in groups
        )
        raise TargetError(
            f"convert takes files of one format, and these are {found}; omit some files, or pass --format"
        )
    (known, paths), *_ = groups
    if known is SAVED:
        raise TargetError(
            f"{paths[0]} is a dataset that ds.save() wrote: penstock cache export {paths[0]} out.parquet writes its "
            "elements into a Parquet or Arrow file"
        )
    asked = named_format(to)
    if asked is None or asked.name not in STORED:
        raise TargetError(f"convert writes {', '.join(STORED)}; the extension of {to} is unknown")
    target = asked.name
    compression = _compression(target, to, compression)
    root = root_of(patterns)
    dataset = _read(known.name, paths, root, target)
    count = dataset.cardinality()
    if count < 0 and max_bytes is not None:
        raise TargetError(
            f"{known.name} files that are compressed are streams of unknown length, and can only become one "
            "file, without --max-bytes"
        )
    columns = columns_of(_some(dataset, count)) if target == "Parquet" else {}
    shards = 1
    if max_bytes is not None and count:
        store = STORED[target].store
        held = [_bytes_in(store(sample, i, columns, rounding)) for i, sample in enumerate(_some(dataset, count))]
        shards = min(max(math.ceil(sum(held) / len(held) * count / max_bytes), 1), count)
    names = [to] if max_bytes is None else shard_names(to, shards)
    bounds = [count * i // shards for i in range(shards + 1)] if count >= 0 else [0, count]
    fingerprint = dataset.fingerprint()
    return Conversion(known.name, paths, root, fingerprint, target, names, bounds, columns, compression, rounding)


def _kind_in_words(known: Format) -> str:
    return "unknown format" if known.name == WHOLE_FILES else f"the format {known.name}"


def _read(source: str, paths: list[str], root: str, target: str) -> ps.Dataset[Any]:
    """Return the dataset to convert."""
    if source == WHOLE_FILES:
        return NamedFiles(paths, root, members=target == "tar").dataset()
    return find_format(source).read(paths)


def _some(dataset: ps.Dataset[Any], count: int) -> Iterator[StoredSample]:
    """Yield elements spread over the dataset, or the first elements of a stream."""
    if count < 0:
        yield from map(sample_of, dataset.take(_SAMPLED))
    else:
        for row in sorted({count * i // _SAMPLED for i in range(_SAMPLED)} if count else ()):
            yield sample_of(dataset[row])


def _compression(target: str, to: str, asked: str | None) -> str | None:
    """Return the compression of the files, as requested or by their name."""
    suffix = os.path.splitext(path_of_url(to))[1]
    named = SUFFIXES.get(suffix[1:].lower())
    if named is not None and (target != "TFRecord" or asked not in (None, named)):
        raise TargetError(f"{to}: a name in {suffix} is for files compressed by {named} as a whole; omit {suffix}")
    found = asked or named
    possible = STORED[target].compressions
    if found is not None and found not in possible:
        forms = f"in {', '.join(possible)}" if possible else "uncompressed: compress their contents"
        raise TargetError(f"convert writes {target} files {forms}; not in {found}")
    return found


def _bytes_in(stored: Any) -> int:
    if isinstance(stored, dict):
        return sum(map(_bytes_in, stored.values())) + 512 * len(stored)
    return len(stored) if isinstance(stored, (bytes, str)) else 8


def _note(to: str) -> str:
    """Return the path of the record of a conversion under way."""
    folder, name = os.path.split(os.path.expanduser(to))
    return os.path.join(folder, f".{name}.converting")


def _begin(plan: Conversion, to: str, *, overwrite: bool) -> list[int]:
    """Return the shards still to be written, after looking for those of an interrupted run."""
    note = _note(to)
    os.makedirs(os.path.dirname(note) or os.curdir, exist_ok=True)
    described = json.dumps(asdict(plan))
    if os.path.exists(note):
        with open(note) as file:
            begun = file.read()
        if begun == described:
            return [shard for shard, name in enumerate(plan.names) if not _is_whole(name)]
        if not overwrite:
            raise TargetError(f"another conversion to {to} was interrupted; finish it, or start over with --overwrite")
        _remove(list(map(_hidden, json.loads(begun)["names"])))
    there = [path for path in plan.names if os.path.lexists(path)]
    if there and not overwrite:
        raise TargetError(f"{there[0]} exists already; remove it, or pass --overwrite")
    others = [] if plan.names == [to] else [path for path in existing_shards(to) if path not in there]
    if others and not overwrite:
        raise TargetError(shard_exists(others[0]))
    for path in [*there, *others]:
        os.unlink(path)
    with open(note, "w") as file:
        file.write(described)
    return list(range(len(plan.names)))


def _hidden(final: str) -> str:
    """Return the name of a complete shard until all shards are complete."""
    folder, name = os.path.split(final)
    return os.path.join(folder, f".{name}.converted")


def _is_whole(final: str) -> bool:
    """Return whether an interrupted run has completed a shard, and possibly given it its name."""
    return os.path.exists(_hidden(final)) or os.path.exists(final)


def _write_shard(plan: Conversion, shard: int, report: Callable[[str], None] = lambda note: None) -> int:
    """Write one shard, read it again, and give it its hidden name if all is equal; return the number of its records.

    The source is read twice, so that only a few records are in memory.
    """
    stored = STORED[plan.target]
    dataset = _read(plan.source, plan.paths, plan.root, plan.target)
    if dataset.fingerprint() != plan.fingerprint:
        raise DataError(f"{plan.paths[0]} or another of the files changed while they were converted; start over")
    folder, name = os.path.split(plan.names[shard])
    begun = os.path.join(folder, f".{os.getpid()}.{name}")
    count = 0
    try:
        made = _reporting(_made(plan, shard, dataset), "written", report)
        stored.write(made, begun, plan.columns, plan.compression)
        again = _reporting(_made(plan, shard, dataset), "compared", report)
        for wanted, got in zip_longest(again, stored.read(begun)):
            if not same_stored(got, wanted):
                record = plan.bounds[shard] + count
                raise DataError(f"record {record} was written to {plan.names[shard]} but differs when read again")
            count += 1
        _move(begun, _hidden(plan.names[shard]))
    finally:
        _remove([begun])
    return count


def _made(plan: Conversion, shard: int, dataset: ps.Dataset[Any]) -> Iterator[Any]:
    """Return the records of a shard, as they are stored."""
    low, high = plan.bounds[shard], plan.bounds[shard + 1]
    store = STORED[plan.target].store
    for i, element in enumerate(dataset if high == ps.UNKNOWN else dataset.skip(low).take(high - low)):
        yield store(sample_of(element), low + i, plan.columns, plan.rounding)


def _reporting(records: Iterator[Any], done: str, report: Callable[[str], None]) -> Iterator[Any]:
    """Yield the records, and report their count as they pass."""
    for count, record in enumerate(records):
        if count % _TOLD_EVERY == 0 and count:
            report(f"{many(count, 'record')} {done}")
        yield record


def _move(path: str, final: str) -> None:
    """Rename a file and its index, unless an interrupted run has done so."""
    if not os.path.exists(path):
        return
    name, final_name = os.path.basename(path), os.path.basename(final)
    for index in indexes_beside(path):
        folder, named = os.path.split(index)
        os.replace(index, os.path.join(folder, final_name + named.removeprefix(name)))
    os.replace(path, final)


def _remove(paths: Sequence[str]) -> None:
    """Remove the existing ones of the files, with their indexes."""
    for path in paths:
        for each in (path, *indexes_beside(path)):
            if os.path.exists(each):
                os.unlink(each)
