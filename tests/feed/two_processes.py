"""A program for test_jax.py: one of two processes with two devices each, which make global batches."""

from __future__ import annotations

import sys
import warnings


def main():  # imports are here: pytest looks for doctests in every file, with JAX or without
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from penstock import Dataset

    jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", 2, int(sys.argv[2]))
    rank = jax.process_index()
    mesh = Mesh(np.array(jax.devices()), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    whole = np.arange(48, dtype=np.float32).reshape(16, 3)
    ds = Dataset.from_tensor_slices({"x": whole, "y": np.arange(16, dtype=np.int32)}).shard(2, rank).batch(4)
    for number, batch in enumerate(ds.to_jax(rows, depth=2)):
        assert batch["x"].shape == (8, 3)
        assert batch["y"].sharding == rows
        mine = np.concatenate([np.asarray(shard.data) for shard in batch["y"].addressable_shards])
        assert mine.tolist() == list(range(8 * number + rank, 8 * number + 8, 2))
        total = jax.jit(lambda y: y.sum(), out_shardings=NamedSharding(mesh, PartitionSpec()))(batch["y"])
        assert int(total) == sum(range(8 * number, 8 * number + 8))
    (stack,) = ds.to_jax(rows, steps=2)
    assert stack["x"].shape == (2, 8, 3)

    # A feed that joins whole batches of both processes warns; one in which each process has all rows anyway does not
    def warned(dataset, sharding):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dataset.to_jax(sharding)
        return [(warning.message.code, warning.filename) for warning in caught]

    batches = Dataset.range(16).batch(8)
    assert warned(batches, rows) == [("PS503", __file__)]
    assert warned(batches, rows) == []
    assert warned(batches.shard_by_rank(), rows) == []
    assert warned(Dataset.range(16).batch(8), NamedSharding(mesh, PartitionSpec())) == []
    columns = NamedSharding(mesh, PartitionSpec(None, "data"))
    assert warned(Dataset.from_tensor_slices(whole).batch(8), columns) == []
    both = Mesh(np.array(jax.devices()).reshape(2, 2).T, ("data", "model"))  # each process has all parts of the rows
    assert warned(Dataset.range(16).batch(8), NamedSharding(both, PartitionSpec("data"))) == []
    print("done")


if __name__ == "__main__":
    main()
