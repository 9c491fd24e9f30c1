"""Signatures of URLs that are elements: in what the user receives, and in nothing that a person or a file is shown."""

from __future__ import annotations

import json
import logging
import os
import pathlib

import numpy as np
import pytest

import penstock as ps
from penstock.cli.main import main

SECRET = "s3cr3t0a1b"


@pytest.fixture
def listed(server, folder):
    """A dataset of signed URLs, whose function names the URL in an error."""
    for i in range(40):
        (folder / f"{i}.txt").write_bytes(b"x")
    base = f"http://127.0.0.1:{server.port}/data"
    urls = [f"{base}/{i}.txt?id={i}&X-Amz-Signature={SECRET}{i}" for i in range(40)]
    return ps.Dataset.list_files(urls, storage_options={"cache_bytes": 0})


@pytest.mark.parametrize("name", ["q-signature", "unknown", ""])
def test_a_source_shows_none_and_a_state_has_none(name, server, folder):
    (folder / "a.txt").write_bytes(b"x\ny\n")
    query = f"{name}={SECRET}" if name else SECRET
    ds = ps.read_text(f"http://127.0.0.1:{server.port}/data/a.txt?{query}", storage_options={"cache_bytes": 0})
    it = ds.iterator(epoch=0)
    assert next(it) == "x"
    for text in (repr(ds), str(ds.explain()), json.dumps(it.state_dict()), str(ds.describe())):
        assert SECRET not in text


def wrong_urls(server):
    signed = f"http://127.0.0.1:{server.port}/data/a.tar?X-Amz-Signature={SECRET}"
    path = pathlib.Path(signed)
    return [
        lambda: ps.read_text(signed.replace("//", "/", 1)),
        lambda: ps.read_text(path),
        lambda: ps.read_text({signed}),
        lambda: ps.Dataset.load(path),
        lambda: ps.Dataset.range(3).save(path),
        lambda: ps.Dataset.range(3).save(signed),
        lambda: ps.Dataset.range(3).cache(signed),
        lambda: ps.Dataset.from_tensor_slices([b"x"]).write_tfrecord(signed.replace("a.tar", "a.tfrecord")),
        lambda: ps.Dataset.from_tensor_slices([b"x"]).write_tfrecord(signed),
        lambda: ps.read_hdf5(signed, "x"),
        lambda: ps.read_sql(path, "t", key="id"),
    ]


@pytest.mark.parametrize("i", range(11))
def test_errors_about_a_url_show_none(i, server):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of several kinds
        wrong_urls(server)[i]()
    assert SECRET not in f"{caught.value} {caught.value!r} {getattr(caught.value, '__notes__', '')}"


def test_commands_show_none_and_know_the_extension_before_a_query(server, tmp_path, capsys):
    ps.Dataset.from_tensor_slices([b"x"]).write_tfrecord(tmp_path / "a.tfrecord")
    base = f"http://127.0.0.1:{server.port}/data"
    for name, says in (("out.tar", "files cannot be written to signed URLs"), ("out.foo", "the extension of")):
        assert main(["convert", str(tmp_path / "a.tfrecord"), f"{base}/{name}?X-Amz-Signature={SECRET}"]) == 2
        printed = "".join(capsys.readouterr())
        assert says in printed
        assert SECRET not in printed


def fails_at_7(url):
    if "/7.txt" in url:
        raise ValueError(f"cannot open {url}")
    return {"url": url, "n": len(url)}


def test_elements_have_them_and_nothing_shown_has(listed, tmp_path, capsys, caplog):
    caplog.set_level(logging.DEBUG)
    policy = ps.on_error.skip(quarantine=str(tmp_path / "failed.jsonl"))
    ds = listed.map(fails_at_7, on_error=policy).with_options(ps.Options(executor="threads", workers=2))
    it = ds.iterator(epoch=0)
    for name, watching in (("r.html", it.report), ("t.json", it.trace), ("tb", it.to_tensorboard)):
        watching(tmp_path / name)
    elements = list(it)
    assert len(elements) == 39
    assert all(SECRET in each["url"] for each in elements)
    shown = [
        repr(ds),
        str(ds.explain()),
        str(it.stats()),
        repr(it.stats()),
        str(it.verdict()),
        *map(str, it.stats().events),
    ]
    shown += [str(ds.describe()), ds.describe()._repr_html_()]
    shown += [str(ds.explain(row=3)), ds.explain(row=3)._repr_html_(), str(ds.explain(row=7)), str(ds.diff(listed))]
    shown += [str(ds.head()), ds.head()._repr_html_(), ps.show(ds).html, str(ps.show(ds)), ds._repr_html_()]
    shown += [str(ds.check()), ds.fingerprint(), json.dumps(ds.iterator(epoch=0).state_dict()), caplog.text]
    for wrong in (
        lambda: list(listed.map(fails_at_7)),
        lambda: next(iter(listed.map(lambda url: np.zeros(len(url))).batch(40))),
        lambda: listed.map(lambda url: {url: 1} if "/7." in url else {"x": 2}).save(tmp_path / "no"),
    ):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - of several kinds
            wrong()
        if isinstance(caught.value, ps.errors.PenstockError):
            shown += [str(caught.value), repr(caught.value), *getattr(caught.value, "__notes__", ())]
    captured = capsys.readouterr()
    shown += [captured.out, captured.err]
    for parent, _, names in os.walk(tmp_path):
        for name in names:
            if "store" not in parent:
                with open(os.path.join(parent, name), "rb") as file:
                    shown.append(f"{name}: {file.read().decode(errors='replace')}")
    found = [text[max(text.find(SECRET) - 200, 0) :][:300] for text in shown if SECRET in text]
    assert not found
    assert sum("Signature=…" in text for text in shown) > 5
