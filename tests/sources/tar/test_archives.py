"""Random access to samples of tar archives: equal to the written ones; errors name the fault."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.sources.tar.archives import TAR, tar_files
from penstock.sources.tar.decoders import Decoders
from penstock.sources.tar.samples import parts_of
from penstock.storage.indexing import index_path
from penstock.testing.sources import verify_source
from tests.sources.archives import archive


def read(source, *rows):
    return source.read_many(np.array(rows, np.int64)).elements()


def source_of(*paths, extensions=None, decode=False):
    parts = None if extensions is None else parts_of(extensions)
    return tar_files([str(path) for path in paths], parts, Decoders(decode))


@pytest.fixture
def three(tmp_path):
    """Three archives: 0 samples, 5 of jpg and cls, 3 of cls and jpg, one of them with a txt."""
    many = [(f"d/{i}.{extension}", f"{extension} {i}".encode()) for i in range(5) for extension in ("jpg", "cls")]
    other = [(f"d/{i}.{extension}", f"{extension} {i}".encode()) for i in range(5, 8) for extension in ("cls", "jpg")]
    for name, files in [("a", []), ("b", many), ("c", [*other, ("d/7.txt", b"txt 7")])]:
        (tmp_path / f"{name}.tar").write_bytes(archive(files))
    return [tmp_path / f"{name}.tar" for name in "abc"]


def test_elements_are_dicts_of_the_files(three):
    source = source_of(*three)
    assert source.length == 8
    assert read(source, 7, 0, 6, 0) == [
        {"__key__": f"d/{i}", "jpg": f"jpg {i}".encode(), "cls": f"cls {i}".encode(), "txt": text}
        for i, text in [(7, b"txt 7"), (0, None), (6, None), (0, None)]
    ]
    assert list(read(source, 1)[0]) == ["__key__", "jpg", "cls", "txt"]
    assert read(source) == []
    assert source.spec() is None


def test_the_source_passes_the_conformance_checks(three):
    for decode in (False, True, {"txt": True, "jpg": str}):
        (three[1].parent / "c.tar").write_bytes(archive([("x.cls", b"1"), ("y.jpg", b"\xc3\xa9")]))
        numbers = [(f"{i}.cls", b"%d" % i) for i in range(30)]
        (three[1].parent / "b.tar").write_bytes(archive(numbers))
        verify_source(source_of(*three, decode=decode))
    verify_source(source_of(three[0]))


def test_columns_selects_and_names_extensions(three):
    source = source_of(*three, extensions={"label": "cls", "image": "png;jpg"})
    assert read(source, 6, 1) == [
        {"__key__": "d/6", "label": b"cls 6", "image": b"jpg 6"},
        {"__key__": "d/1", "label": b"cls 1", "image": b"jpg 1"},
    ]
    assert read(source_of(*three, extensions=[]), 3) == [{"__key__": "d/3"}]
    first = source_of(*three, extensions=["txt;cls"])
    assert [element["txt"] for element in read(first, 6, 7)] == [b"cls 6", b"txt 7"]


def test_a_sample_that_lacks_a_file_is_named(three):
    source = source_of(*three, extensions=["jpg", "txt"])
    assert read(source, 7)[0]["txt"] == b"txt 7"
    with pytest.raises(DataError) as caught:
        read(source, 7, 5, 7)
    assert caught.value.element == 1
    assert str(caught.value).startswith(
        f"{three[2]}: the sample 'd/5', at byte 0, has no txt; it has cls, jpg. If some samples lack it"
    )
    optional = source_of(*three, extensions=["jpg", "txt?"])
    assert [element["txt"] for element in read(optional, 5, 7)] == [None, b"txt 7"]


def test_decoded_numbers_are_a_column(tmp_path):
    (tmp_path / "a.tar").write_bytes(archive([(f"{i}.cls", str(i).encode()) for i in range(4)]))
    source = source_of(tmp_path / "a.tar", decode={"cls": int})
    columns = source.read_many(np.array([3, 1])).columns
    assert [column.tolist() for column in columns if isinstance(column, np.ndarray)] == [[3, 1]]
    assert str(source.spec()) == "{'__key__': str, 'cls': int64}"


def test_files_that_cannot_be_decoded_are_named(tmp_path):
    (tmp_path / "a.tar").write_bytes(archive([("x/1.cls", b"1"), ("x/2.cls", b"two")]))
    with pytest.raises(DataError, match=r"a.tar: 'x/2.cls', at byte 1536: b'two' cannot be decoded as cls") as caught:
        read(source_of(tmp_path / "a.tar", decode=True), 0, 1)
    assert caught.value.element == 1
    with pytest.raises(ZeroDivisionError) as raised:
        read(source_of(tmp_path / "a.tar", decode={"cls": lambda _: 1 / 0}), 0)
    assert raised.value.__notes__ == [f"decoding {tmp_path}/a.tar: 'x/1.cls', at byte 512"]


def test_changed_and_truncated_archives_are_named_with_the_sample(three):
    source = source_of(*three)
    read(source, 0)
    os.truncate(three[1], 512 * 7)
    with pytest.raises(DataError, match="cut short") as caught:
        read(source, 7, 0, 4)
    assert caught.value.element == 2
    late = source_of(*three)
    late.__dict__["sidecars"] = source.sidecars  # as one that was indexed before
    with pytest.raises(DataError, match=r"had 20,480 bytes .* and has 3,584 now"):
        read(late, 0)


def test_records_are_described(three):
    assert source_of(*three).describe(1) == f"{three[1]}, d/1 (jpg, cls), at byte 2048"
    assert source_of(*three).describe(7) == f"{three[2]}, d/7 (cls, jpg, txt), at byte 4096"


def test_a_pickled_source_is_only_a_description(three):
    source = source_of(*three, extensions=["cls"])
    read(source, 0)
    sent = pickle.dumps(source)
    assert len(sent) < 1500
    again = pickle.loads(sent)
    assert read(again, 6) == read(source, 6)
    assert str(again.fingerprint()[-1]) == str(source.fingerprint()[-1])


def test_the_fingerprint_depends_on_content_and_entries(three, tmp_path):
    from penstock.plan.identity import identity

    def of(**options):
        return list(identity(source_of(*three, **options)))

    assert of() == of()
    told = [of(), of(extensions=["jpg"]), of(extensions=["jpg?"]), of(decode=True), of(decode={"cls": int})]
    assert len({str(one) for one in told}) == 5
    before = of()
    three[1].write_bytes(archive([("a.jpg", b"1")]))
    assert of() != before


def test_too_many_extensions_require_columns(tmp_path):
    (tmp_path / "a.tar").write_bytes(archive([(f"img.{i}.jpg", b"") for i in range(300)]))
    with pytest.raises(DataError, match=r"300 extensions \(0.jpg, 1.jpg, 2.jpg, \.\.\.\)"):
        source_of(tmp_path / "a.tar").spec()
    assert source_of(tmp_path / "a.tar", extensions=["7.jpg"]).length == 1


def test_a_member_of_a_compressed_format_is_decompressed(tmp_path):
    import gzip

    (tmp_path / "a.tar").write_bytes(archive([("a.json.gz", gzip.compress(b'{"x": [1]}'))]))
    assert read(source_of(tmp_path / "a.tar", decode=True), 0) == [{"__key__": "a", "json.gz": {"x": [1]}}]
    (tmp_path / "b.tar").write_bytes(archive([("a.json.gz", b"\x1f\x8b damaged")]))
    with pytest.raises(DataError, match=r"b.tar: 'a.json.gz', at byte 512, at byte 10: the gzip data is damaged"):
        read(source_of(tmp_path / "b.tar", decode=True), 0)


def test_an_inconsistent_index_is_made_again(three):
    source = source_of(three[1])
    length = source.length
    (sidecar,) = source.sidecars
    arrays = dict(sidecar.arrays) | {"members": np.array([0, 99])}
    type(sidecar)(sidecar.format, sidecar.parameters, sidecar.stamp, arrays).save(index_path(str(three[1]), TAR))
    assert source_of(three[1]).length == length
