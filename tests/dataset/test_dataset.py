"""The one public class: immutable, and named as `tf.data` names it."""

from __future__ import annotations

import pytest

from penstock import Dataset

NAMES = """
    apply as_numpy_iterator batch cardinality concatenate counter element_spec enumerate explain fingerprint from_source
    from_tensor_slices from_tensors iterator list_files locate map options prefetch random range repeat shard shuffle
    skip take to_jax to_torch with_options zip
"""


def test_the_class_has_every_operation():
    assert set(NAMES.split()) <= set(dir(Dataset))


def test_a_transformation_leaves_the_dataset_as_it_is():
    ds = Dataset.range(6)
    made = ds.shuffle(seed=0).map(lambda x: -x).batch(4)
    assert len(made) == 2
    assert list(ds) == list(range(6))


@pytest.mark.filterwarnings("ignore:PS104")
def test_pipelines_share_their_beginning():
    base = Dataset.range(100).shuffle(seed=0)
    assert list(base.take(10).iterator(epoch=0)) + list(base.skip(10).iterator(epoch=0)) == list(base.iterator(epoch=0))
