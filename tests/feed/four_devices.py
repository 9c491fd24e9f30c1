"""A program for test_jax.py, with four devices of JAX."""

from __future__ import annotations


def main():  # noqa: PLR0915 - a program, whose imports are here: pytest looks for doctests with JAX or without
    import jax
    import numpy as np
    import pytest
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from penstock import Dataset, Ragged
    from penstock.core.errors import ElementError, PlanError

    mesh = Mesh(np.array(jax.devices()).reshape(4), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    data = {
        "x": np.arange(96, dtype=np.float32).reshape(32, 3),
        "y": np.arange(32),
        "name": [str(i) for i in range(32)],
    }
    ds = Dataset.from_tensor_slices(data).shuffle(seed=0).batch(8, drop_remainder=True)
    plain = list(ds.iterator(epoch=0))

    def raises(kind, says, function):
        with pytest.raises(kind, match=says):
            function()

    # One array over all devices
    for want, batch in zip(plain, ds.to_jax(rows).iterator(epoch=0), strict=True):
        assert batch["x"].sharding == rows
        assert [shard.data.shape for shard in batch["x"].addressable_shards] == [(2, 3)] * 4
        np.testing.assert_array_equal(np.asarray(batch["x"]), want["x"])
        assert batch["y"].dtype == np.int32
        assert batch["name"].tolist() == want["name"].tolist()

    # Batches that cannot be divided: known at once, or when they come
    numbers = Dataset.from_tensor_slices(np.arange(30, dtype=np.float32))
    short = numbers.batch(8)
    raises(PlanError, "the last batch of an epoch has 6 rows, which 4 devices cannot share", lambda: short.to_jax(rows))
    raises(PlanError, "batches have 6 rows", lambda: numbers.batch(6, drop_remainder=True).to_jax(rows))
    assert [len(batch) for batch in short.take(3).to_jax(rows)] == [8, 8, 8]
    raises(PlanError, "have 8 rows, and parts of them 2, which 4", lambda: ds.to_jax(rows, micro_batches=4))
    raises(
        PlanError, "micro_batches=9 cuts batches into 9 parts, but batches", lambda: ds.to_jax(rows, micro_batches=9)
    )
    it = iter(short.filter(lambda x: True).to_jax(rows))
    assert [len(next(it)) for _ in range(3)] == [8, 8, 8]
    raises(ElementError, "cannot divide the batch, which is float32.6", lambda: next(it))

    square = NamedSharding(
        Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model")), PartitionSpec("data", "model")
    )
    wide = Dataset.from_tensor_slices({"w": np.zeros((8, 4)), "x": np.zeros((8, 3))}).batch(4)
    raises(
        ElementError, r'\["x"\], which is float32.4, 3.: the sharding divides dim', lambda: list(wide.to_jax(square))
    )
    raises(ElementError, "float32.4.: the sharding divides dim", lambda: list(numbers.take(4).batch(4).to_jax(square)))
    raises(ElementError, "float32.3.: let the batch be", lambda: list(numbers.take(3).batch(4).map(abs).to_jax(rows)))

    # Stacks, whose first axis is not divided
    (stack,) = ds.to_jax(rows, steps=4).iterator(epoch=0)
    assert stack["x"].shape == (4, 8, 3)
    assert stack["x"].sharding.spec == PartitionSpec(None, "data")
    total, _ = jax.lax.scan(lambda carry, batch: (carry + batch["x"].sum(), None), 0.0, {"x": stack["x"]})
    assert float(total) == data["x"].sum()
    raises(PlanError, "choose one", lambda: ds.to_jax(rows, split=True, round_robin=True))

    # Towers
    for want, parts in zip(plain, ds.to_jax(jax.devices()[:2], split=True).iterator(epoch=0), strict=True):
        assert [next(iter(part["x"].devices())).id for part in parts] == [0, 1]
        np.testing.assert_array_equal(np.concatenate([np.asarray(part["x"]) for part in parts]), want["x"])
    dealt = list(ds.take(3).to_jax(jax.devices()[:2], round_robin=True).iterator(epoch=0))
    assert [len(step) for step in dealt] == [2, 1]
    assert [next(iter(batch["y"].devices())).id for step in dealt for batch in step] == [0, 1, 0]
    raises(PlanError, "pass split=True", lambda: ds.to_jax(jax.devices()[:2]))

    # Micro-batches, divided each
    for want, parts in zip(plain, ds.to_jax(rows, micro_batches=2).iterator(epoch=0), strict=True):
        assert [part["x"].sharding for part in parts] == [rows, rows]
        np.testing.assert_array_equal(np.concatenate([np.asarray(part["x"]) for part in parts]), want["x"])

    # Casts on the device
    finish = jax.jit(lambda batch: batch.astype(np.float32) / 255)
    pixels = Dataset.from_tensor_slices(np.full((16, 2), 255, np.uint8)).batch(8).to_jax(rows, finish=finish)
    assert [float(batch.sum()) for batch in pixels] == [16, 16]

    # Ragged values have no rows to divide: all devices have them
    ragged = Dataset.from_tensor_slices({"r": Ragged.from_rows([[1.0], [], [2.0, 3.0], [4.0]])}).ragged_batch(4)
    (batch,) = ragged.to_jax(rows)
    assert batch["r"].flat_values.sharding.is_fully_replicated
    assert batch["r"].flat_values.tolist() == [1, 2, 3, 4]

    # A feed says what limits it
    it = ds.repeat(10).to_jax(rows).iterator()
    assert len(list(it)) == 40
    assert isinstance(it.verdict(), str)
    print("done")


if __name__ == "__main__":
    main()
