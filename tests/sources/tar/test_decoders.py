"""Decoding of files by their extension."""

from __future__ import annotations

import bz2
import gzip
import io
import json

import numpy as np
import pytest

from penstock.core.errors import DataError, PlanError
from penstock.sources.tar.decoders import Decoders, decode_file, split_extension


def by_default(extension, data):
    return decode_file(data, extension, Decoders(True)(extension), "here")


def saved(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


@pytest.mark.parametrize(
    ("extension", "data", "value"),
    [
        ("txt", b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
        ("cls", b" 7\n", 7),
        ("json", b'{"a": [1, null]}', {"a": [1, None]}),
        ("seg.json", b"[]", []),
        ("json.gz", gzip.compress(b"[1]", mtime=0), [1]),
        ("txt.bz2", bz2.compress(b"x"), "x"),
        ("jpg", b"\xff\xd8", b"\xff\xd8"),
        ("gz", b"not opened", b"not opened"),
        ("bin.gz", b"not opened", b"not opened"),
    ],
)
def test_default_decoders_decode_text_numbers_and_json(extension, data, value):
    assert by_default(extension, data) == value


def test_npy_and_npz_are_decoded():
    array = np.arange(6).reshape(2, 3)
    assert np.array_equal(by_default("npy", saved(np.save, array)), array)
    assert np.array_equal(by_default("npz", saved(np.savez, x=array))["x"], array)
    with pytest.raises(DataError, match=r"here: .*cannot be decoded as npy: .*pickle"):
        by_default("npy", saved(np.save, np.array([{}], object), allow_pickle=True))


@pytest.mark.parametrize(
    ("extension", "data"), [("cls", b"x"), ("txt", b"\xff"), ("json", b"{"), ("npy", b""), ("npz", b"x")]
)
def test_decoding_errors_have_the_place(extension, data):
    with pytest.raises(DataError, match=f"here: .* cannot be decoded as {extension}"):
        by_default(extension, data)


def test_a_mapping_decodes_only_its_extensions():
    decoders = Decoders({"cls": float, "txt": str, "json": True, "raw.gz": bytes, "x": len})
    assert decoders("jpg") is None
    assert decode_file(b"1.5", "cls", decoders("cls"), "") == 1.5
    assert decode_file(b"a", "txt", decoders("txt"), "") == "a"
    assert decode_file(json.dumps({"a": 1}).encode(), "json", decoders("json"), "") == {"a": 1}
    assert decode_file(gzip.compress(b"abc"), "raw.gz", decoders("raw.gz"), "") == b"abc"
    assert decode_file(b"abc", "y.x", decoders("y.x"), "") == 3


def test_the_error_of_a_function_keeps_its_type():
    with pytest.raises(KeyError) as caught:
        decode_file(b"", "x", {}.__getitem__, "here")
    assert caught.value.__notes__ == ["decoding here"]


def test_wrong_arguments_are_refused():
    for given in (3, "cls", None):
        with pytest.raises(TypeError, match="expected True, False or a dict"):
            Decoders(given)
    with pytest.raises(PlanError, match="without a leading dot"):
        Decoders({".cls": int})
    with pytest.raises(PlanError, match="no built-in decoder for 'jpg'"):
        Decoders({"jpg": True})
    with pytest.raises(TypeError, match="a function of bytes"):
        Decoders({"jpg": 3})


def test_compression_is_split_off():
    assert [split_extension(name) for name in ("a.b.zst", "jpg", "xz")] == [
        ("a.b", "zstd"),
        ("jpg", None),
        ("xz", None),
    ]


def test_different_settings_have_different_fingerprints():
    assert Decoders(True).fingerprint() == Decoders(True).fingerprint() != Decoders(False).fingerprint()
