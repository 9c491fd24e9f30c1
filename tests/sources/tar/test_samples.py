"""Selection of the files of a sample by the user's arguments."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import PlanError
from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.sources.tar.decoders import Decoders
from penstock.sources.tar.samples import SampleField, Shape, parts_of


def test_lists_and_dicts_of_columns_are_accepted():
    assert parts_of(["jpg", "Seg.PNG"]) == (SampleField("jpg", ("jpg",)), SampleField("seg.png", ("seg.png",)))
    assert parts_of({"image": "jpg;png", "text": "txt?"}) == (
        SampleField("image", ("jpg", "png")),
        SampleField("text", ("txt",), required=False),
    )
    assert parts_of([]) == ()


@pytest.mark.parametrize("given", ["jpg", b"jpg", 3, [3], {"a": None}, {1: "jpg"}])
def test_other_types_are_refused(given):
    with pytest.raises(TypeError, match="columns="):
        parts_of(given)


@pytest.mark.parametrize("given", [[""], [".jpg"], ["a/b"], ["jpg;"], ["?"], ["jpg", "jpg"], {"__key__": "txt"}])
def test_invalid_extensions_are_refused(given):
    with pytest.raises(PlanError, match="columns="):
        parts_of(given)


def test_the_spec_is_known_if_each_entry_has_one():
    def spec(extensions, decode):
        return Shape(parts_of(extensions), Decoders(decode)).spec()

    number = ArraySpec((), np.dtype(np.int64))
    assert spec(["jpg", "cls"], False) == {
        "__key__": ObjectSpec(str),
        "jpg": ObjectSpec(bytes),
        "cls": ObjectSpec(bytes),
    }
    assert spec(["txt", "cls"], True) == {"__key__": ObjectSpec(str), "txt": ObjectSpec(str), "cls": number}
    assert spec(["json"], True) is None
    assert spec(["npy"], True) is None
    assert spec(["cls?"], True) is None
    assert spec(["cls;txt"], True) is None
