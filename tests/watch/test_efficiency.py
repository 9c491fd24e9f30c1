"""The share of packed sequences that is tokens."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, pack_efficiency
from penstock.core.errors import ElementError


def test_it_is_the_share_of_places_that_hold_tokens():
    packed = Dataset.from_source([np.arange(3), np.arange(4), np.arange(2)]).pack(6)
    batch = next(iter(packed.batch(2)))
    assert pack_efficiency(batch) == pack_efficiency(batch["segment_ids"]) == 9 / 12
    assert [pack_efficiency(sequence) for sequence in packed] == [3 / 6, 6 / 6]
    assert pack_efficiency([[1, 1, 2, 0]]) == 0.75
    assert pack_efficiency(np.zeros((0, 4))) == 1


def test_other_batches_are_refused():
    with pytest.raises(ElementError, match="segment_ids"):
        pack_efficiency({"tokens": np.zeros(3)})
