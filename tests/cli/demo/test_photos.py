from __future__ import annotations

import numpy as np

from penstock.cli.demo.photos import BATCH, SIZE, measure, pipeline, write_photos


def test_the_pipeline_makes_crops_and_its_speed_is_compared_with_the_ceiling(tmp_path):
    assert write_photos(tmp_path, 8, lambda done, note: None) > 8 * 10_000
    ds = pipeline(tmp_path)
    assert "fuse_image_chain" in ds.explain()
    with ds.iterator() as batches:
        batch = next(batches)
    assert batch["image"].shape == (BATCH, SIZE, SIZE, 3)
    assert batch["image"].dtype == np.uint8
    assert set(batch["label"].tolist()) == {0, 1}
    speeds = measure(tmp_path, 0.3, lambda done, note: None, rounds=1)
    assert min(speeds.pipeline, speeds.kernel, speeds.whole) > 0
    assert "map(read → decode()" in speeds.verdict
