"""Real stores: those of fsspec, moto's S3 server, and nginx; keys, listings and options as users write them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

import pytest

import penstock as ps
from penstock.core.errors import DataError, MissingDependencyError, PlanError
from penstock.storage.remote.listing import find_objects
from tests.storage.remote.fault_proxy import FAULTS, Handler, fault_proxy


def test_file_systems_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    for i in range(4):
        store.pipe(f"/stores/d/{i}.txt", b"%d\n" % i * 3)
    ds = ps.read_text("memory://stores/d/*.txt", storage_options={"cache_bytes": 0})
    assert list(ds.shuffle(seed=1)) != list(ds)
    assert sorted(ds) == sorted(str(i) for i in range(4) for _ in range(3))
    with pytest.raises(PlanError, match="nothing://"):
        ps.read_text("nothing://a/b")


def test_a_replaced_object_of_fsspec_is_named():
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.pipe("/stores/changed.txt", b"one\n")
    ds = ps.read_files("memory://stores/changed.txt", storage_options={"cache_bytes": 0})
    store.pipe("/stores/changed.txt", b"two\n")
    with pytest.raises(DataError, match="replaced since"):
        list(ds)
    assert list(ps.read_files("memory://stores/changed.txt", storage_options={"cache_bytes": 0})) == [b"two\n"]
    store.pipe("/stores/changed.txt", b"six\n")
    assert list(ps.read_files("memory://stores/changed.txt", storage_options={"cache_bytes": 0})) == [b"six\n"]


@pytest.fixture
def moto():
    """The URL of an S3 server with a bucket, `data`, and a client of it; its objects stay until the process ends."""
    server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        url = f"http://{host}:{port}"
        client = boto3.client(
            "s3", endpoint_url=url, aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1"
        )
        client.create_bucket(Bucket="data")
        yield url, client
    finally:
        running.stop()


def options_of(url):
    client = {"endpoint_url": url, "region_name": "us-east-1"}
    return {"key": "a", "secret": "b", "client_kwargs": client, "cache_bytes": 0}


def test_moto(moto):
    url, client = moto
    names = ["a/1.txt", "a/b/2.txt", "a/.hidden", "odd name+é#1.txt", "x[1].bin"]
    for name in names:
        client.put_object(Bucket="data", Key=name, Body=name.encode())
    given = options_of(url)
    assert list(ps.read_files("s3://data/a/", storage_options=given)) == [b"a/1.txt", b"a/b/2.txt"]
    assert list(ps.read_files("s3://data/a/*", storage_options=given)) == [b"a/1.txt"]
    assert list(ps.read_files("s3://data/odd*", storage_options=given)) == ["odd name+é#1.txt".encode()]
    assert list(ps.Dataset.list_files("s3://data/**/*.txt", storage_options=given)) == [
        "s3://data/a/1.txt", "s3://data/a/b/2.txt", "s3://data/odd name+é#1.txt",
    ]  # fmt: skip
    assert list(ps.read_files("s3://data/x[1].bin", storage_options=given)) == [b"x[1].bin"]
    with pytest.raises(FileNotFoundError, match="no such bucket"):
        ps.read_files("s3://other/*", storage_options=given)


def test_a_proxy_before_moto_that_fails_changes_nothing(moto):
    url, client = moto
    contents = [bytes([i]) * (1000 + 137 * i) for i in range(60)]
    for i, content in enumerate(contents):
        client.put_object(Bucket="data", Key=f"faults/{i:02}.bin", Body=content)
    records = b"".join(b"%d,%d\n" % (i, i * i) for i in range(20_000))
    client.put_object(Bucket="data", Key="faults/lines.txt", Body=records)
    with fault_proxy(url, every=4) as (proxy, through):
        given = options_of(through)
        for seed in range(2):
            ds = ps.read_files("s3://data/faults/*.bin", storage_options=given).shuffle(seed=seed)
            assert list(ds) == list(ps.Dataset.from_source(contents).shuffle(seed=seed))
        lines = list(ps.read_text("s3://data/faults/lines.txt", storage_options=given).shuffle(seed=1))
        assert lines == list(ps.Dataset.from_source(records.decode().splitlines()).shuffle(seed=1))
        assert set(proxy.met) == set(FAULTS)


class Denying(Handler):
    """The answers of the store; if it `denies`, not for the second part of an object, and for deleting one.

    Connections stay open, each with its handler.
    """

    def do_PUT(self):  # noqa: N802
        self.deny() if self.server.denies and "partNumber=2" in self.path else self.pass_on()

    def do_POST(self):  # noqa: N802
        self.deny() if self.server.denies and self.path.endswith("?delete") else self.pass_on()

    def deny(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_parts_of_an_object_that_fails_are_taken_back_and_what_cannot_be_is_told(moto):
    url, client = moto
    with fault_proxy(url, every=1 << 30) as (proxy, through):
        proxy.RequestHandlerClass, proxy.denies = Denying, True
        rows = [{"a": "small", "z": bytes(20 << 20)}]
        with pytest.raises(PermissionError) as caught:
            ps.Dataset.from_source(rows).save("s3://data/parts", storage_options=options_of(through))
        assert "Uploads" not in client.list_multipart_uploads(Bucket="data")
        left = [each["Key"] for each in client.list_objects_v2(Bucket="data", Prefix="parts/")["Contents"]]
        told = "These objects that were sent could not be deleted: "
        assert sorted(caught.value.__notes__[0].removeprefix(told).split(", ")) == left
        proxy.denies = False
        ps.Dataset.from_source([b"x"]).write_tfrecord(
            "s3://data/s.tfrecord", max_bytes=1, storage_options=options_of(through)
        )
        proxy.denies = True
        with pytest.raises(PermissionError) as caught:
            ps.Dataset.from_source([b"x", b"y"]).write_tfrecord(
                "s3://data/s.tfrecord", max_bytes=1, overwrite=True, storage_options=options_of(through)
            )
        assert caught.value.__notes__[0].startswith("The new files are complete. Delete this one")
    for key in left:
        client.delete_object(Bucket="data", Key=key)


def test_nginx(tmp_path):
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip("nginx is not installed")
    pytest.importorskip("obstore")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "a.txt").write_bytes(b"one\ntwo\n" * 1000)
    paths = " ".join(
        f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"{'user root; ' if os.getuid() == 0 else ''}\n"
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}\n"
        f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port}; root {tmp_path}/www;\n"
        "location /whole/ { alias " + f"{tmp_path}/www/; max_ranges 0; }} }} }}\n"
    )
    running = subprocess.Popen(
        [program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")], stderr=subprocess.PIPE
    )
    try:
        ds = ps.read_text(f"http://127.0.0.1:{port}/a.txt", storage_options={"cache_bytes": 0})
        assert list(ds) == ["one", "two"] * 1000
        with pytest.raises(DataError, match="only whole files"):
            list(ps.read_files(f"http://127.0.0.1:{port}/whole/a.txt", storage_options={"cache_bytes": 0}))
    finally:
        running.terminate()
        running.communicate()


def test_the_extra_is_named_when_the_library_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(MissingDependencyError, match=r"penstock\[remote\]"):
        find_objects(["s3://another-bucket/x"], {"region": "missing"})
