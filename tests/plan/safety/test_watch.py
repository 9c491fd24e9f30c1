from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.spec import spec_of
from penstock.plan.safety.instructions import Known
from penstock.plan.safety.watch import WHOLE, Results, Snapshot


class Held:
    """An object with attributes of each kind."""

    def __init__(self):
        self.none, self.number, self.items = None, 1, [1, 2]
        self.array, self.large, self.table = np.zeros(3), np.zeros(2 * WHOLE, np.uint8), {"a": 1}


def changed(act):
    held = Held()
    before = Snapshot([Known(held, "held")])
    act(held)
    after = Snapshot([Known(held, "held")])
    return before.changed(after), before.has_new(after)


def test_replaced_and_modified_objects_are_found():
    assert changed(lambda held: setattr(held, "number", 2))[0] == "held.number"
    assert changed(lambda held: held.array.fill(1))[0] == "held.array"
    assert changed(lambda held: held.large.fill(1))[0] == "held.large"
    assert changed(lambda held: held.items.pop())[0] == "held.items"
    assert changed(lambda held: delattr(held, "table"))[0] == "held.table"


def test_additions_are_no_change():
    assert changed(lambda held: None) == (None, False)
    assert changed(lambda held: held.items.append(3)) == (None, False)
    assert changed(lambda held: held.table.update(b=2)) == (None, True)
    assert changed(lambda held: setattr(held, "none", 2)) == (None, True)
    assert changed(lambda held: setattr(held, "new", 2)) == (None, True)


def unusual(torch):
    """Return tensors that NumPy has no array for."""
    with torch.inference_mode():
        inferred = torch.ones(2, dtype=torch.bfloat16)
    half = torch.ones(2, dtype=torch.bfloat16)
    return [half, inferred, torch.ones(2, 2).to_sparse(), torch.ones(2, dtype=torch.complex64).conj()]


@pytest.mark.parametrize("which", range(4), ids=["bfloat16", "inference", "sparse", "conjugate"])
def test_tensors_that_numpy_cannot_view_pass_through(which):
    torch = pytest.importorskip("torch")
    kept = unusual(torch)[which]
    for ds in (
        ps.Dataset.range(2).map(lambda i: kept),
        ps.Dataset.range(2).map(lambda i: {"x": kept.clone()}).map(lambda row: row["x"]),
        ps.Dataset.range(2).map(lambda i: kept).cache(),
    ):
        assert [tensor.to_dense().tolist() for tensor in ds] == [kept.to_dense().tolist()] * 2
    assert repr(spec_of(kept)) == "Tensor"


def test_a_write_into_a_kept_tensor_of_bfloat16_is_found():
    torch = pytest.importorskip("torch")
    kept, results = torch.ones(2, dtype=torch.bfloat16), Results()
    results.keep([kept])
    assert not results.changed()
    kept.add_(1)
    assert results.changed()


def test_a_batch_of_tensors_that_numpy_cannot_view_names_the_way_out():
    torch = pytest.importorskip("torch")
    ds = ps.Dataset.range(2).map(lambda i: torch.ones(2, dtype=torch.bfloat16)).batch(2)
    with pytest.raises(TypeError) as told:
        list(ds)
    assert any("map() it to one that NumPy can view, by tensor.float()" in note for note in told.value.__notes__)
