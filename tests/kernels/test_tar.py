"""Scans of tar archives: what Python's tarfile finds, and damage named."""

from __future__ import annotations

import tarfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.kernels import _native
from penstock.kernels.reference import tar as twin
from penstock.kernels.tar import MEMBERS_AT_ONCE, Samples, SamplesOfArchives, scan_tar, scan_tar_bytes, skipped_in_words
from tests.sources.archives import archive, header, member, pax, read_by_tarfile

END = bytes(1024)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/.\0"), min_size=1, max_size=60)
FORMATS = pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])


def scanned(tmp_path, data):
    path = tmp_path / "a.tar"
    path.write_bytes(data)
    return scan_tar(str(path))


def scanned_bytes(data, path):
    samples, _, failure = scan_tar_bytes(data, path, whole=True)
    if failure is not None:
        raise failure
    return samples


def files_of(samples, data):
    """`(name, content)` of each member, in order."""
    found = []
    for k in range(len(samples)):
        for i in range(samples.members[k], samples.members[k + 1]):
            extension = samples.extensions[samples.extension[i]]
            found.append((f"{samples.key(k)}.{extension}", data[samples.begins[i] : samples.ends[i]]))
    return found


@FORMATS
def test_scans_find_the_members_that_tarfile_finds(tmp_path, format):
    long = "folder/" * 20 + "name"
    files = [
        ("a.txt", b"one"), ("a.cls", b""), ("b/c.x/1.seg.png", b"z" * 512), ("b/c.x/1.json", b"y" * 513),
        (f"{'d' * 90}/{'e' * 90}.txt", b"prefix"), ("./1.txt", b"dot"), ("x" * 95 + ".txt", b"100 bytes"),
    ]  # fmt: skip
    if format != tarfile.USTAR_FORMAT:
        files += [(long * 3 + ".jpg", b"long"), ("é" * 60 + ".jpg", b"not ascii"), ("x" * 96 + ".txt", b"101 bytes")]
    data = archive(files, format)
    assert files_of(scanned(tmp_path, data), data) == files == read_by_tarfile(data)


@given(st.lists(st.tuples(NAMES, st.sampled_from(["txt", "a.b", "jpg"]), st.binary(max_size=1500)), max_size=8))
def test_any_names_and_contents_are_found(tmp_path_factory, drawn):
    files = [(f"{i}/{name}.{extension}", content) for i, (name, extension, content) in enumerate(drawn)]
    data = archive(files)
    assert files_of(scanned(tmp_path_factory.mktemp("t"), data), data) == files
    samples, needed, failure = scan_tar_bytes(data, "x", whole=True)
    assert (files_of(samples, data), needed, failure) == (files, 0, None)


@pytest.mark.parametrize("count", [0, 1, MEMBERS_AT_ONCE - 1, MEMBERS_AT_ONCE, MEMBERS_AT_ONCE + 1])
def test_samples_continue_across_steps_of_the_scan(tmp_path, count):
    data = b"".join(member(b"%d.%s" % (i // 3, (b"a", b"b", b"c")[i % 3]), b"x") for i in range(count)) + END
    samples = scanned(tmp_path, data)
    assert len(samples) == -(-count // 3)
    assert samples.members.tolist() == [*range(0, count, 3), count]
    if count:
        assert samples.key(len(samples) - 1) == str((count - 1) // 3)


def test_extensions_are_lowercase_and_keys_unchanged(tmp_path):
    samples = scanned(tmp_path, archive([("A/B.JPG", b"1"), ("A/B.Cls", b"2")]))
    assert (samples.key(0), samples.extensions, len(samples)) == ("A/B", ["jpg", "cls"], 1)


def test_members_without_a_sample_are_skipped(tmp_path):
    folder, link, hard, pipe = (tarfile.TarInfo(name) for name in ("d.x", "l.txt", "h.txt", "p.txt"))
    folder.type, link.type, hard.type, pipe.type = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE
    link.linkname = hard.linkname = "a.txt"
    files = [
        (folder, b""),
        ("README", b"r"),
        ("dot.", b"d"),
        (".hidden.txt", b"h"),
        ("d/._1.jpg", b"m"),
        ("a.txt", b"1"),
    ]
    data = archive([*files, (link, b""), (hard, b""), (pipe, b""), ("b.txt", b"2")])
    data = data[: -len(data) % 512 or len(data)]
    samples = scanned(tmp_path, data)
    assert files_of(samples, data) == [("a.txt", b"1"), ("b.txt", b"2")]
    assert samples.skipped.tolist() == [2, 1, 0]
    assert skipped_in_words(samples.skipped) == "2 links and 1 devices and pipes are skipped"


def test_archives_that_were_joined_are_read_to_the_end(tmp_path):
    data = archive([("a.txt", b"1")]) + bytes(10240) + archive([("b.txt", b"2")])
    assert files_of(scanned(tmp_path, data), data) == [("a.txt", b"1"), ("b.txt", b"2")]


@pytest.mark.parametrize("cut", [0, 1, 512, 1023])
def test_one_zero_block_at_the_end_is_enough(tmp_path, cut):
    data = member(b"a.txt", b"abc") + END
    assert files_of(scanned(tmp_path, data[: len(data) - cut]), data) == [("a.txt", b"abc")]


@pytest.mark.parametrize("cut", [1024, 1025, 1024 + 509])
def test_an_archive_without_an_end_is_truncated(tmp_path, cut):
    data = member(b"a.txt", b"abc") + member(b"a.cls", b"1") + member(b"b.txt", b"def") + END
    with pytest.raises(DataError, match=rf"a.tar, at byte {len(data) - cut}: the archive ends without the zeros") as at:
        scanned(tmp_path, data[: len(data) - cut])
    assert files_of(at.value.samples, data) == [("a.txt", b"abc"), ("a.cls", b"1")]
    assert "truncate --size=+1024" in str(at.value)


@pytest.mark.parametrize("read", [scanned, lambda folder, data: scanned_bytes(data, str(folder / "a.tar"))])
@pytest.mark.parametrize(("begin", "end"), [(1, 2), (2, 4), (1, 9), (6, 14)])
def test_zeroed_blocks_inside_are_damage(tmp_path, begin, end, read):
    data = bytearray(archive([(f"{i}.txt", b"x" * 700) for i in range(9)]))
    data[3 * 512 * begin : 3 * 512 * begin + 512 * (end - begin)] = bytes(512 * (end - begin))
    with pytest.raises(DataError, match=r"a.tar.*, at byte \d+: there "):
        read(tmp_path, bytes(data))


def test_an_archive_of_zeros_has_no_samples_and_an_empty_file_is_none(tmp_path):
    assert len(scanned(tmp_path, bytes(10240))) == 0
    with pytest.raises(DataError, match=r"a.tar, at byte 0: the archive ends without the zeros"):
        scanned(tmp_path, b"")


@pytest.mark.parametrize("kind", [b"0", b"\0", b"7"])
def test_regular_files_of_each_kind(tmp_path, kind):
    data = member(b"a.txt", b"abc", kind) + member(b"folder.d/", b"", kind) + END
    assert files_of(scanned(tmp_path, data), data) == [("a.txt", b"abc")]


def test_sizes_in_binary_and_in_extended_headers(tmp_path):
    binary = member(b"a.txt", b"abc", at124=b"\x80" + (3).to_bytes(11, "big"))
    extended = member(b"x", pax(b"size", b"5") + pax(b"comment", b"a=b\nc"), b"x") + header(b"b.txt", 3)
    data = binary + extended + b"hello".ljust(512, b"\0") + END
    assert files_of(scanned(tmp_path, data), data) == [("a.txt", b"abc"), ("b.txt", b"hello")]


def test_signed_checksums_of_old_programs_are_accepted(tmp_path):
    head = bytearray(header("é.txt".encode(), 3))
    signed = sum(byte - 256 if byte > 127 else byte for byte in head[:148] + b" " * 8 + head[156:])
    head[148:156] = b"%06o\0 " % signed
    data = bytes(head) + b"abc".ljust(512, b"\0") + END
    assert files_of(scanned(tmp_path, data), data) == [("é.txt", b"abc")]


SPARSE = pax(b"GNU.sparse.major", b"1") + pax(b"GNU.sparse.name", b"a.txt")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no archive at all".ljust(600), "the member, at byte 0: there is no member header"),
        (member(b"a.txt", b"x") + b"\1" * 512, "the member, at byte 1024: there is no member header"),
        (member(b"a.txt", b"x")[:300], "the member, at byte 0: the archive ends inside it"),
        (member(b"a.txt", b"x" * 600)[:1100], "the member, at byte 0: the archive ends inside it"),
        (header(b"a.txt", at124=b"\x80" + b"\x7f" * 11), "'a.txt', at byte 0: its size"),
        (header(b"a.txt", at124=b"\xff" * 12), "at byte 0: its size"),
        (header(b"a.txt", at124=b"12345678901x"), "at byte 0: its size"),
        (header(b"a.txt", at124=b"\x80" + bytes(4) + b"\x3f" + b"\xff" * 6), "at byte 0: the archive ends inside"),
        (header(b"a.txt", kind=b"S"), "'a.txt', at byte 0: it is sparse"),
        (member(b"x", SPARSE, b"x") + member(b"a.txt", b"x"), "'a.txt', at byte 0: it is sparse"),
        (header(b"a.txt", kind=b"M"), "'a.txt', at byte 0: it is a part"),
        (member(b"x", b"99 path=short\n", b"x") + member(b"a.txt", b""), r"at byte 0: its extended header \(pax\)"),
        (member(b"x", b"no length\n", b"x") + member(b"a.txt", b""), "its extended header"),
        (member(b"x", pax(b"size", b"-1"), b"x") + member(b"a.txt", b""), "its extended header"),
        (member(b"g", pax(b"path", b"all"), b"g") + member(b"a.txt", b""), "a global header"),
        (header(b""), "it has no name"),
        (member(b"x", pax(b"path", b"a\0b.txt"), b"x") + member(b"a.txt", b""), "no name, or a name with a zero"),
        (member(b"L", b"n" * 70_000, b"L") + member(b"a.txt", b""), "of more than 64 KiB"),
        (member(b"x", pax(b"path", b"b.txt"), b"x"), "at byte 0: the archive ends inside it"),
        (member(b"a.txt", b"1") + member(b"a.TXT", b"2"), "'a.TXT', at byte 1024: the sample already has a file"),
        (b"".join(member(b"img.%d.jpg" % i, b"") for i in range(4100)), "'img.4096.jpg'.*more than 4096 extensions"),
    ],
)  # fmt: skip
def test_damage_and_unsupported_members_are_named(tmp_path, data, reason):
    with pytest.raises(DataError, match=reason) as caught:
        scanned(tmp_path, data)
    assert str(caught.value).startswith(str(tmp_path))
    with pytest.raises(DataError, match=reason):
        scanned_bytes(data, str(tmp_path))


def test_a_part_reports_the_missing_bytes():
    data = archive([("a.txt", b"1" * 700), ("b.txt", b"2"), ("é" * 70 + ".txt", b"3")])
    for size in range(0, len(data), 100):
        samples, needed, failure = scan_tar_bytes(data[:size], "x", whole=False)
        assert failure is None
        assert len(samples) == (size >= 1536) + (size >= 2560) + (size >= 4608)
        if needed:  # with as much, it goes on
            assert len(scan_tar_bytes(data[: size + needed], "x", whole=False)[0]) >= len(samples)
            assert scan_tar_bytes(data[: size + needed], "x", whole=False)[1] != needed


def test_a_file_truncated_during_the_scan_is_an_error(tmp_path):
    import os

    from penstock.kernels import _native

    path = tmp_path / "a.tar"
    path.write_bytes(member(b"a.txt", b"x" * 100_000) + member(b"b.txt", b"y"))
    scanner = _native.TarScanner(os.fsencode(path))
    os.truncate(path, 512)
    arrays = (*(np.empty(9, np.int64) for _ in range(4)), np.empty(1 << 17, np.uint8), np.zeros(3, np.int64))
    assert scanner.scan(0, arrays)[0] == 2
    with pytest.raises(ValueError, match="outside"):
        scanner.scan(1 << 40, arrays)
    with pytest.raises(FileNotFoundError):
        scan_tar(str(tmp_path / "missing"))


NAME = st.binary(max_size=5) | st.sampled_from(["é", "日本", "a" * 40]).map(str.encode)


EXTENSIONS = ["jpg", "png", "cls", "txt"]


def archive_of(names, kinds=None, extensions=()):
    """Return an archive of samples with these keys and, for each, members with these numbers of extensions."""
    nothing = np.zeros(0, np.int64)
    ends = np.cumsum(list(map(len, names)), dtype=np.int64)
    keys = np.frombuffer(b"".join(names), np.uint8)
    kinds = [[] for _ in names] if kinds is None else kinds
    members = np.cumsum([0, *map(len, kinds)])
    extension = np.array([kind for each in kinds for kind in each], np.int32)
    return Samples(nothing, nothing, nothing, extension, members, keys, ends, list(extensions), nothing)


@st.composite
def archives_of_samples(draw):
    """Return archives, the first row of each and the total number, and rows that have samples."""
    archives, starts, rows = [], [0], []
    for _ in range(draw(st.integers(1, 4))):
        extensions = draw(st.permutations(EXTENSIONS))
        names = draw(st.lists(NAME, max_size=5))
        kind = st.lists(st.integers(0, len(extensions) - 1), unique=True, max_size=len(extensions))
        archives.append(archive_of(names, [draw(kind) for _ in names], extensions))
        rows += [starts[-1] + sample for sample in range(len(names))]
        starts.append(starts[-1] + len(names) + draw(st.integers(0, 1)))  # perhaps a row for its unreadable end
    chosen = draw(st.lists(st.sampled_from(rows), max_size=9)) if rows else []
    return archives, np.array(starts, np.int64), np.array(chosen, np.int64)


@given(archives_of_samples(), st.lists(st.lists(st.sampled_from([*EXTENSIONS, "x"]), unique=True, max_size=3)))
def test_keys_and_members_are_those_of_the_twin(made, parts):
    archives, starts, rows = made
    samples = SamplesOfArchives(archives, parts, starts)
    assert samples.keys(rows) == twin.keys_of_samples(archives, starts, rows)
    members, missing = samples.members(rows)
    np.testing.assert_array_equal(members, twin.members_of_samples(archives, parts, starts, rows), strict=True)
    assert missing == (members < 0).sum()


def test_rows_are_those_of_one_archive_after_another():
    samples = SamplesOfArchives([archive_of([b"a", b"b"]), archive_of([]), archive_of([b"c"])], [])
    assert samples.keys(np.array([2, 0, 1])) == ["c", "a", "b"]


@pytest.mark.parametrize("row", [-1, 2, 4, 2**40, -(2**62)])
def test_a_row_without_a_sample_is_refused(row):
    samples = SamplesOfArchives([archive_of([b"a", b"b"]), archive_of([b"c"])], [["jpg"]], np.array([0, 3, 4]))
    with pytest.raises(IndexError, match="no such sample"):
        samples.keys(np.array([0, row]))
    with pytest.raises(IndexError, match="no such sample"):
        samples.members(np.array([0, row]))


@pytest.mark.parametrize("ends", [[1, 0], [1, 4], [-1, 3], [1, -(2**63)], [1, 2**63 - 1]])
def test_a_key_that_lies_outside_of_the_index_is_empty(ends):
    samples = replace(archive_of([b"a", b"bc"]), key_ends=np.array(ends, np.int64))
    assert SamplesOfArchives([samples], []).keys(np.array([1])) == [""]


@pytest.mark.parametrize(
    "damage",
    [
        {"members": np.array([0, 1, 0])},
        {"members": np.array([0, -1, 2])},
        {"members": np.array([0, 1, 2**62])},
        {"extension": np.array([0, 4], np.int32)},
        {"extension": np.array([0, -1], np.int32)},
    ],
)
def test_members_that_lie_outside_of_the_index_are_missing(damage):
    samples = replace(archive_of([b"a", b"b"], [[0], [1]], EXTENSIONS), **damage)
    members, missing = SamplesOfArchives([samples], [["jpg", "png"]]).members(np.array([1]))
    assert (members.tolist(), missing) == ([[-1]], 1)


def test_arrays_of_other_lengths_or_dtypes_are_refused():
    keys, ends, members, kinds = np.zeros(1, np.uint8), np.ones(1, np.int64), np.zeros(2, np.int64), np.zeros(0, "i4")
    samples = _native.TarSamples([(keys, ends, members, kinds, kinds)], [0, 1], [[0], [0]])
    with pytest.raises(ValueError, match="each part of each row"):
        samples.members(np.zeros(1, np.int64), np.zeros((1, 1), np.int64))
    with pytest.raises(TypeError, match="64-bit"):
        samples.keys(np.zeros(1, np.int32))
    with pytest.raises(TypeError, match="64-bit"):
        _native.TarSamples([(keys, np.ones(1, np.int32), members, kinds, kinds)], [0, 1], [])
    with pytest.raises(TypeError, match="32-bit"):
        _native.TarSamples([(keys, ends, members, kinds.astype(np.int64), kinds)], [0, 1], [])
    with pytest.raises(ValueError, match="one more than the keys"):
        _native.TarSamples([(keys, ends, ends, kinds, kinds)], [0, 1], [])
    for starts in ([0], [1, 0]):
        with pytest.raises(ValueError, match="starts"):
            _native.TarSamples([(keys, ends, members, kinds, kinds)], starts, [])
