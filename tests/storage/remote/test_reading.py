"""Readers of URLs: the elements, orders and states of local files, also through failures of the store."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import threading
import traceback
from contextlib import closing

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.sources.tfrecord.writing import framed
from penstock.storage.remote.fetcher import _fetcher, fetcher
from tests.sources import shard_files

URL = "s3://data/"
RNG = np.random.default_rng(7)
CONTENTS = [RNG.bytes(int(size)) for size in RNG.integers(0, 3000, 120)]


@pytest.fixture
def files(folder):
    """The files of the store, in all formats."""
    ps.Dataset.from_source(CONTENTS).write_tfrecord(folder / "a.tfrecord", max_bytes=50_000, index=False)
    samples = [{"__key__": f"k/{i}", "bin": content, "cls": i % 7} for i, content in enumerate(CONTENTS)]
    ps.Dataset.from_source(samples).write_tar(folder / "t.tar", max_bytes=50_000)
    (folder / "x.txt").write_bytes(b"\xef\xbb\xbfone\n\ntwo\r\n\xc3\xa9\rx\n\n" + b"line\n" * 300 + b"end")
    (folder / "x.csv").write_text("a,b\n" + "".join(f'{i},"t,{i}"\n' for i in range(900)))
    (folder / "x.jsonl").write_text("".join(json.dumps({"i": i, "t": "é" * (i % 5)}) + "\n\n" for i in range(150)))
    (folder / "x.bin").write_bytes(bytes(range(250)) * 40)
    (folder / "z.txt.gz").write_bytes(__import__("gzip").compress(b"".join(b"%d\n" % i for i in range(500))))
    np.save(folder / "n-1.npy", np.arange(3000, dtype=">i4").reshape(500, 6))
    np.save(folder / "n-2.npy", np.arange(600, dtype=">i4").reshape(100, 6))
    columns = {"x": np.arange(900.0).reshape(300, 3), "t": np.array([f"t{i}" for i in range(300)])}
    np.savez(folder / "s.npz", **columns)
    np.savez_compressed(folder / "c.npz", **columns)
    for name in ("cat", "dog"):
        (folder / "img" / name / "sub").mkdir(parents=True)
        for i in range(6):
            (folder / "img" / name / f"{i}.jpg").write_bytes(CONTENTS[i])
        (folder / "img" / name / "sub" / "7.jpg").write_bytes(b"seven")
        (folder / "img" / name / "sub" / ".hidden.jpg").write_bytes(b"no")
        (folder / "img" / name / "a.txt").write_bytes(b"no")
    return folder


def parquet(folder):
    arrow = pytest.importorskip("pyarrow")
    table = {"i": np.arange(600), "t": [f"t{i}" for i in range(600)], "l": [[1.0 * i] * 3 for i in range(600)]}
    __import__("pyarrow.parquet").parquet.write_table(arrow.table(table), folder / "p.parquet", row_group_size=50)


def arrow(folder):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(
        {"i": np.arange(600), "t": [f"t{i % 7}" for i in range(600)], "l": [[1.0 * i] for i in range(600)]}
    )
    for name, changed, options in (
        ("a.arrow", table, {"compression": None}),
        ("d.arrow", table.set_column(1, "t", table["t"].dictionary_encode()), {"compression": "zstd"}),
    ):
        made = arrow.ipc.IpcWriteOptions(**options)
        with arrow.ipc.new_file(folder / name, changed.schema, options=made) as writer:
            writer.write_table(changed, max_chunksize=70)


def zarr_stores(folder):
    zarr = pytest.importorskip("zarr")
    made = zarr.open_group(folder / "z", mode="w", zarr_format=3)
    made.create_array("x", data=np.arange(6000).reshape(600, 10), chunks=(50, 4), shards=(100, 8))
    made.create_array("deep/y", data=np.arange(600.0), chunks=(64,))
    old = zarr.open_group(folder / "z2", mode="w", zarr_format=2)
    old.create_array("x", data=np.arange(90), chunks=(32,))


def shards(folder):
    shard_files.simple_mds(folder / "mds")
    shard_files.simple_mds(folder / "mds.gz", compression="gz")
    shard_files.simple_litdata(folder / "litdata")
    shard_files.tokens(folder / "tokens", [[[1, 2, 3], list(range(4, 30))], [list(range(40, 61))]])


def saved(folder):
    elements = [
        {"x": np.full((2, 3), i), "u": np.arange(i % 5, dtype=np.int16), "t": "é" * (i % 7), "n": np.zeros((0, 2))}
        for i in range(90)
    ]
    ps.Dataset.from_source(elements).save(folder / "saved")


def sqlite(folder):
    with closing(sqlite3.connect(folder / "people.db")) as db, db:
        db.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
        db.executemany("INSERT INTO people VALUES (?, ?)", [(i * 2, f"p{i}") for i in range(300)])


def hdf5(folder):
    with pytest.importorskip("h5py").File(folder / "h.h5", "w") as file:
        file.create_dataset("x", data=np.arange(6000).reshape(600, 10), chunks=(50, 4), compression="gzip")
        file["deep/y"] = np.arange(600.0)
        file["deep/t"] = [f"t{i}" for i in range(600)]


def frames(folder):
    pytest.importorskip("zstandard")
    from tests.storage.test_seekable import seekable  # which is skipped as a whole without it

    data = b"".join(map(framed, CONTENTS))
    cuts = [data[i : i + 20_000] for i in range(0, len(data), 20_000)]
    (folder / "f-1.zst").write_bytes(seekable(cuts))
    (folder / "f-2.zst").write_bytes(seekable([framed(b"%d" % i) for i in range(3000)]))  # a table of two reads


READERS = {
    "frames": lambda at, **o: ps.read_tfrecord(f"{at}f-*.zst", **o),
    "tfrecord": lambda at, **o: ps.read_tfrecord(f"{at}*.tfrecord", **o),
    "tar": lambda at, **o: ps.read_tar(f"{at}t-*.tar", decode=True, **o),
    "text": lambda at, **o: ps.read_text(f"{at}x.txt", **o),
    "lines": lambda at, **o: ps.read_text(f"{at}x.txt", keep_empty=False, encoding=None, **o),
    "json": lambda at, **o: ps.read_json(f"{at}x.jsonl", **o),
    "fixed": lambda at, **o: ps.read_fixed_length(f"{at}x.bin", dtype=np.uint8, shape=[25], **o),
    "files": lambda at, **o: ps.read_files(f"{at}img/**/*.jpg", **o),
    "folder": lambda at, **o: ps.read_image_folder(f"{at}img", **o),
    "csv": lambda at, **o: ps.read_csv(f"{at}x.csv", block_bytes=1000, **o),
    "parquet": lambda at, **o: ps.read_parquet(f"{at}p.parquet", **o),
    "filtered": lambda at, **o: ps.read_parquet(f"{at}p.parquet", filters=[("i", ">", 333)], columns=["i", "t"], **o),
    "numpy": lambda at, **o: ps.read_numpy(f"{at}n-*.npy", **o),
    "stored": lambda at, **o: ps.read_numpy(f"{at}s.npz", **o),
    "compressed": lambda at, **o: ps.read_numpy(f"{at}c.npz", columns="x", **o),
    "hdf5": lambda at, **o: ps.read_hdf5(f"{at}h.h5", **o),
    "arrow": lambda at, **o: ps.read_arrow(f"{at}a.arrow", **o),
    "coded arrow": lambda at, **o: ps.read_arrow(f"{at}d.arrow", columns=["t"], **o),
    "zarr": lambda at, **o: ps.read_zarr(f"{at}z", **o),
    "old zarr": lambda at, **o: ps.read_zarr(f"{at}z2", columns="x", **o),
    "mds": lambda at, **o: ps.read_mds(f"{at}mds", **o),
    "packed mds": lambda at, **o: ps.read_mds(f"{at}mds.gz", **o),
    "litdata": lambda at, **o: ps.read_litdata(f"{at}litdata", **o),
    "tokens": lambda at, **o: ps.read_litdata(f"{at}tokens", block_size=2, **o),
    "stream": lambda at, **o: ps.read_text(f"{at}z.txt.gz", **o),
    "saved": lambda at, **o: ps.Dataset.load(f"{at}saved", **o),
    "sql": lambda at, **o: ps.read_sql(f"{at}people.db", "people", key="id", rows_per_block=50, **o),
}
WRITERS = {
    **dict.fromkeys(("csv", "parquet", "filtered"), parquet),
    **dict.fromkeys(("arrow", "coded arrow"), arrow),
    **dict.fromkeys(("mds", "packed mds", "litdata", "tokens"), shards),
    **dict.fromkeys(("zarr", "old zarr"), zarr_stores),
    "frames": frames,
    "hdf5": hdf5,
    "saved": saved,
    "sql": sqlite,
}
"""What writes further files, which need other libraries or folders."""


def same(one, two):
    """Return whether two elements are equal, arrays by value."""
    return pickle.dumps(one) == pickle.dumps(two) or repr(one) == repr(two)


@pytest.fixture(params=READERS)
def both(request, files, options):
    """The dataset of the local files, and that of their URLs."""
    if request.param in WRITERS:
        WRITERS[request.param](files)
    make = READERS[request.param]
    return make(f"{files}/"), make(URL, storage_options=options)


def test_a_dataset_of_urls_is_that_of_the_files(both):
    local, remote = both
    assert repr(remote.element_spec) == repr(local.element_spec)
    assert same(list(remote), list(local))
    shuffled, of_files = remote.shuffle(20, seed=3), local.shuffle(20, seed=3)
    assert same(list(shuffled.shard(3, 1)), list(of_files.shard(3, 1)))
    assert same(list(shuffled.skip(7).take(11)), list(of_files.skip(7).take(11)))


def test_a_state_of_one_continues_the_other(both):
    local, remote = (each.shuffle(20, seed=5).map(repr).batch(4) for each in both)
    it = remote.iterator()
    for _ in range(2):
        next(it)
    other = local.iterator()
    other.load_state_dict(it.state_dict())
    assert same(list(other), list(it))


@pytest.mark.parametrize("columns", [None, ["i", "l"]])
def test_each_row_group_is_requested_once(columns, folder, options, server):
    arrow = pytest.importorskip("pyarrow")
    wide = {"i": np.arange(400), "t": [RNG.bytes(2000) for _ in range(400)], "l": [[1.0 * i] * 90 for i in range(400)]}
    table = arrow.table(wide)
    write = __import__("pyarrow.parquet").parquet.write_table
    write(
        table, folder / "p.parquet", row_group_size=4, compression="none", use_dictionary=False, write_statistics=False
    )
    metadata = __import__("pyarrow.parquet").parquet.read_metadata(folder / "p.parquet")
    chunks = [each for i in range(100) for each in metadata.row_group(i).to_dict()["columns"]]
    wanted = sum(
        each["total_compressed_size"] for each in chunks if columns is None or each["path_in_schema"][0] in columns
    )
    for seed in (None, 1):
        ds = ps.read_parquet(f"{URL}p.parquet", columns=columns, storage_options=options)
        server.told()
        _fetcher.cache_clear()  # one that knows no times of requests makes none twice
        assert len(list((ds if seed is None else ds.shuffle(seed=seed)).batch(8))) == 50
        assert wanted <= server.stats.bytes <= 1.1 * wanted
        assert fetcher()._bytes <= 0.1 * wanted  # what was announced twice would be kept


@pytest.mark.parametrize("name", ["tfrecord", "tar", "folder", "json"])
def test_failures_of_the_store_do_not_change_the_elements(name, files, options, server):
    local, remote = READERS[name](f"{files}/"), READERS[name](URL, storage_options=options)
    list(remote)  # with an index
    server.told(every=3)
    for seed in range(3):
        order = remote.shuffle(seed=seed).batch(5) if name != "json" else remote.shuffle(seed=seed)
        expected = local.shuffle(seed=seed).batch(5) if name != "json" else local.shuffle(seed=seed)
        assert same([repr(each) for each in order], [repr(each) for each in expected])
    assert server.stats.faults


def test_executors_give_the_same(files, options):
    local, remote = READERS["tfrecord"](f"{files}/"), READERS["tfrecord"](URL, storage_options=options)
    expected = list(local.shuffle(seed=1).map(len).batch(9))
    for executor in ("inline", "threads", "processes"):
        run = remote.shuffle(seed=1).map(len).batch(9).with_options(ps.Options(executor=executor, workers=2))
        assert same(list(run), expected)


def end_fetching():
    """Wait for the threads that write to the cache."""
    for thread in threading.enumerate():
        if thread.name == "penstock-fetch":
            thread.join()


def test_the_cache_serves_later_epochs_and_processes(files, options, server, cache):
    options = {**options, "cache_bytes": 1 << 30}
    first = list(READERS["tfrecord"](URL, storage_options=options))
    assert first == CONTENTS
    end_fetching()
    server.told()
    again = READERS["tfrecord"](URL, storage_options=options).shuffle(seed=1)
    it = again.iterator()
    assert sorted(it) == sorted(CONTENTS)
    assert server.stats.gets == 0
    assert it.stats().fetched.cached_bytes > 0
    assert list(cache.glob("objects/*/*.psobject"))


def test_short_lines_in_any_order_take_few_requests(folder, options, server):
    lines = [f"line {number}" for number in range(6000)]
    (folder / "lines.txt").write_text("\n".join(lines))
    ds = ps.read_text("s3://data/lines.txt", storage_options=options).shuffle(seed=1).batch(32)
    len(ds)  # with the index
    server.told()
    assert sorted(line for batch in ds for line in batch.tolist()) == sorted(lines)
    assert server.stats.gets < len(lines) / 20


def test_indexes_are_made_once(files, options, server):
    len(READERS["tfrecord"](URL, storage_options=options))
    server.told()
    assert len(READERS["tfrecord"](URL, storage_options=options)) == len(CONTENTS)
    assert server.stats.bytes <= 16 * len(list(files.glob("*.tfrecord")))  # their first bytes


def test_an_object_replaced_under_its_index_is_named(files, options):
    remote = ps.read_tfrecord(f"{URL}a-00000*", storage_options=options)
    assert len(remote)
    (path,) = files.glob("a-00000*")
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(DataError, match=r"s3://data/a-00000.*replaced since the dataset was made.*make the dataset"):
        list(remote)
    new = ps.read_tfrecord(f"{URL}a-00000*", storage_options=options)
    with pytest.raises(DataError, match="record 0"):  # another index: this content is no TFRecord
        list(new)


def test_damage_is_that_of_the_local_file(files, options):
    (path,) = files.glob("a-00001*")
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    told = []
    for at, given in ((f"{files}/", {}), (URL, {"storage_options": options})):
        ds = ps.read_tfrecord(f"{at}*.tfrecord", **given)
        kept = list(ds.ignore_errors())
        with pytest.raises(DataError, match="CRC-32C") as caught:
            list(ds)
        told.append((kept, str(caught.value).replace(at, "")))
    assert told[0] == told[1]


def test_a_file_cut_short_is_read_up_to_there(files, options):
    (path,) = files.glob("a-00002*")
    path.write_bytes(path.read_bytes()[:-5])
    local, remote = (
        ps.read_tfrecord(f"{files}/*.tfrecord"),
        ps.read_tfrecord(f"{URL}*.tfrecord", storage_options=options),
    )
    assert list(local.ignore_errors()) == list(remote.ignore_errors())
    with pytest.raises(DataError, match=r"s3://data/a-00002.*cut short"):
        list(remote)


BROKEN = {
    "wrong keys": ({"status": 403, "code": "InvalidAccessKeyId"}, OSError, "credentials are wrong.*storage_options="),
    "signature": ({"status": 403, "code": "SignatureDoesNotMatch"}, OSError, "credentials are wrong"),
    "expired": ({"status": 400, "code": "ExpiredToken"}, OSError, "have expired.*renew"),
    "denied": ({"status": 403, "code": "AccessDenied"}, OSError, "access is denied.*keys that may read it"),
    "no ranges": ({"no_ranges": True}, DataError, "only whole files.*download"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_errors_say_what_to_do_and_no_credentials(name, files, options, server):
    faults, kind, text = BROKEN[name]
    ds = ps.read_files(f"{URL}img/cat/*.jpg", storage_options=options)
    server.told(**faults)
    with pytest.raises(kind, match=text) as caught:
        list(ds)
    told = "".join(traceback.format_exception(caught.value))
    assert "s3://data/img/cat/0.jpg" in told
    assert "s3cr3t-value" not in told
    assert "AKIDTEST" not in told


def test_credentials_appear_nowhere(files, options, server, cache):
    secret = "s3cr3t-value"
    ds = ps.read_tfrecord(f"{URL}*.tfrecord", storage_options={**options, "cache_bytes": 1 << 30}).shuffle(seed=1)
    it = ds.batch(3).iterator()
    next(it)
    state = it.state_dict()
    shown = [repr(ds), str(ds.explain()), json.dumps(state), str(it.stats()), repr(it.stats()), it.verdict()]
    shown += [repr(path) for path in ds._plan.input.source.paths]
    assert not any(secret in text or "AKIDTEST" in text for text in shown)
    list(it)
    end_fetching()
    for folder, _, names in os.walk(cache):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            assert secret.encode() not in content
            assert secret not in name


def test_expired_credentials_are_asked_for_anew(files, options, server):
    ds = ps.read_files(f"{URL}img/cat/0.jpg", storage_options=options)
    server.told(status=400, code="ExpiredToken", only=1)
    assert list(ds) == [CONTENTS[0]]


def test_what_is_not_there(files, options):
    for url, text in (
        ("s3://other/x*", "no such bucket"),
        (f"{URL}nothing", "no such object"),
        (f"{URL}*.foo", "no object matches.*looked in s3://data.*such as"),
        (f"{URL}img", "is a prefix"),
    ):
        with pytest.raises(FileNotFoundError, match=text):
            ps.read_files(url, storage_options=options)
    with pytest.raises(PlanError, match=r"'sekret'.*expected some of .*secret"):
        ps.read_files(f"{URL}x.txt", storage_options={**options, "sekret": "s3cr3t-value"})
    with pytest.raises(PlanError, match="local file system"):
        ps.read_files(f"{files}/x.txt", storage_options=options)
    with pytest.raises(PlanError, match="together"):
        ps.read_files([f"{files}/x.txt", f"{URL}x.txt"], storage_options=options)
    with pytest.raises(TypeError, match="expected a dict"):
        ps.read_files(f"{URL}x.txt", storage_options="key")


def test_a_store_that_does_not_answer_is_given_up_in_time(files, options, server):
    ds = ps.read_files(f"{URL}x.bin", storage_options={**options, "retry_seconds": 0.2})
    server.told(error=1.0)
    with pytest.raises(OSError, match=r"the store fails \(InternalError.*try again later"):
        list(ds)


def test_zstd_without_a_table_is_a_stream(folder, options):
    zstandard = pytest.importorskip("zstandard")
    (folder / "s.tfrecord.zst").write_bytes(zstandard.compress(b"".join(map(framed, CONTENTS))))
    ds = ps.read_tfrecord(f"{URL}s.tfrecord.zst", compression="zstd", storage_options=options)
    assert list(ds) == CONTENTS
    assert "unknown length" in repr(ds)


def test_the_rows_to_come_are_fetched_together(files, options, server):
    ds = ps.read_files(f"{URL}img/**/*.jpg", storage_options=options).batch(2)
    server.told(latency=0.05)
    list(ds)
    assert server.stats.most_at_once > 2


def test_a_run_that_waits_for_the_store_is_storage_bound(files, options, server):
    ds = ps.read_files(f"{URL}img/**/*.jpg", storage_options=options).batch(2)
    server.told(latency=0.1)
    it = ds.iterator()
    list(it)
    fetched = it.stats().fetched
    assert fetched.requests >= 10
    assert fetched.milliseconds >= 100
    assert "reads of remote files" in str(it.stats())
    assert "Storage-bound" in it.verdict()


def test_signed_urls_and_plain_http(files, options, server):
    base = f"http://127.0.0.1:{server.port}/data/img/cat"
    given = {"cache_bytes": 0}
    signed = ps.read_files(f"{base}/1.jpg?X-Amz-Signature=abc123secret", storage_options=given)
    assert list(signed) == [CONTENTS[1]]
    assert "abc123secret" not in repr(signed) + str(signed.explain())
    urls = [f"{base}/{name}.jpg?X-Amz-Signature={name}abc123secret" for name in (1, 2)]
    listed = ps.Dataset.list_files(urls, storage_options=given)
    assert list(listed) == urls
    assert "abc123secret" not in repr(listed) + str(listed.explain())
    assert list(ps.read_files([f"{base}/2.jpg", f"{base}/1.jpg"], storage_options=given)) == [CONTENTS[2], CONTENTS[1]]
    with pytest.raises(PlanError, match="no listing"):
        ps.read_files(f"{base}/*.jpg", storage_options=given)
    saved(files)
    kept = ps.Dataset.load(f"http://127.0.0.1:{server.port}/data/saved", storage_options=given)  # needs no listing
    assert same(list(kept), list(ps.Dataset.load(files / "saved")))
    assert fetcher().counts.requests


def test_images_and_examples_parse_as_from_files(files, options, folder):
    image = pytest.importorskip("PIL.Image")
    (folder / "pic").mkdir()
    for i in range(5):
        image.fromarray(RNG.integers(0, 255, (20, 30, 3), np.uint8)).save(folder / "pic" / f"{i}.jpg")
    examples = [ps.records.encode_example({"x": np.arange(3) + i}) for i in range(40)]
    ps.Dataset.from_source(examples).write_tfrecord(folder / "e.tfrecord", index=False)
    for at, given in ((f"{folder}/", {}), (URL, {"storage_options": options})):
        images = ps.read_files(f"{at}pic/*.jpg", **given).map(ps.image.decode()).map(ps.image.resize((8, 8))).batch(5)
        parsed = (
            ps.read_tfrecord(f"{at}e.tfrecord", **given)
            .batch(8)
            .map(ps.records.parse_example({"x": ps.records.FixedLenFeature([3], np.int64)}))
        )
        if not given:
            expected = list(images), list(parsed)
    found = list(images), list(parsed)
    np.testing.assert_equal(found[0], expected[0])
    np.testing.assert_equal(found[1], expected[1])


def test_objects_made_for_folders_are_no_files(options, server, folder):
    for name in ("a/x", "a/b/y", "a/b.c/z", "a/none"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"" if name == "a/none" else name.encode())
    (folder / "a/empty").mkdir()
    (folder / "a/x.psindex").write_bytes(b"an index")
    server.told(folders=True)
    assert "s3://data/a/empty" not in ps.Dataset.list_files("s3://data/**", storage_options=options)
    for pattern, names in {
        "a/": ["a/b.c/z", "a/b/y", "a/none", "a/x"],
        "a/**": ["a/b.c/z", "a/b/y", "a/none", "a/x"],
        "a/*": ["a/none", "a/x"],
        "**/[!.]": ["a/b.c/z", "a/b/y", "a/x"],
    }.items():
        found = ps.Dataset.list_files(f"s3://data/{pattern}", storage_options=options)
        assert list(found) == [f"s3://data/{name}" for name in names]


@pytest.mark.parametrize(
    "url", ["s3://me:s3cr3t@data/a", "s3://me:s3/cr3t@data/a", "http://me:s3/cr3t@host/a", "ftp://me:s3/cr3t@host/a"]
)
def test_a_password_in_a_url_is_not_shown(url):
    with pytest.raises(PlanError) as caught:
        ps.read_files(url)
    assert not any(word in str(caught.value) for word in ("s3cr3t", "s3/cr3t", "cr3t", "me:"))
