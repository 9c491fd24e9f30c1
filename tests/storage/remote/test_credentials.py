"""Signatures of URLs that are elements: in what the user receives, and in nothing that a person or a file is shown."""

from __future__ import annotations

import json
import logging
import os

import numpy as np
import pytest

import penstock as ps

SECRET = "s3cr3t0a1b"


@pytest.fixture
def listed(server, folder):
    """A dataset of signed URLs, whose function names the URL in an error."""
    for i in range(40):
        (folder / f"{i}.txt").write_bytes(b"x")
    base = f"http://127.0.0.1:{server.port}/data"
    urls = [f"{base}/{i}.txt?id={i}&X-Amz-Signature={SECRET}{i}" for i in range(40)]
    return ps.Dataset.list_files(urls, storage_options={"cache_bytes": 0})


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
