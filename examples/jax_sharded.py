"""Train on batches that are divided over four devices: `python examples/jax_sharded.py`.

Without four accelerators, JAX divides the CPU into four devices. Each batch of handwritten digits is divided by rows,
the parameters are on all devices, and the compiled step adds up the gradients. Recognizes 95 % of the digits held out.
"""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")  # before JAX is imported

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from sklearn.datasets import load_digits

import penstock as ps

EPOCHS, RATE = 12, 0.5
TRAINED = 1500  # digits; the others are held out


def digits() -> tuple[ps.Dataset, ps.Dataset]:
    """Return the batches of all epochs, each shuffled anew, and batches of digits held out."""
    data = load_digits()
    ds = ps.Dataset.from_tensor_slices({"x": data.data.astype(np.uint8), "y": data.target.astype(np.int32)})
    ds = ds.shuffle(seed=0, reshuffle_each_iteration=False)  # one order, cut in two
    train = ds.take(TRAINED).shuffle(seed=1).repeat(EPOCHS)
    return train.batch(64, drop_remainder=True), ds.skip(TRAINED).batch(64)


def normalized(batch: dict[str, jax.Array]) -> dict[str, jax.Array]:
    return {**batch, "x": batch["x"].astype(jnp.float32) / 16}


def parameters_of(rng: np.random.Generator, hidden: int = 128) -> dict[str, np.ndarray]:
    first, second = rng.normal(0, 64**-0.5, (64, hidden)), rng.normal(0, hidden**-0.5, (hidden, 10))
    made = {"first": first, "bias": np.zeros(hidden), "second": second}
    return {name: array.astype(np.float32) for name, array in made.items()}


def logits(parameters: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    return jax.nn.relu(x @ parameters["first"] + parameters["bias"]) @ parameters["second"]


def loss_of(parameters: dict[str, jax.Array], batch: dict[str, jax.Array]) -> jax.Array:
    scores = jax.nn.log_softmax(logits(parameters, batch["x"]))
    return -jnp.take_along_axis(scores, batch["y"][:, None], axis=1).mean()


@jax.jit
def step(parameters: dict[str, jax.Array], batch: dict[str, jax.Array]) -> tuple[dict[str, jax.Array], jax.Array]:
    loss, slopes = jax.value_and_grad(loss_of)(parameters, batch)
    return jax.tree.map(lambda value, slope: value - RATE * slope, parameters, slopes), loss


def main() -> None:
    mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    by_rows, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    train, held_out = digits()
    feed = train.to_jax(by_rows, finish=jax.jit(normalized))  # a byte for each pixel travels
    parameters = jax.device_put(parameters_of(np.random.default_rng(0)), everywhere)
    with feed.iterator() as batches:
        for batch in batches:
            parameters, loss = step(parameters, batch)
    rows = {shard.device.id: shard.data.shape[0] for shard in batch["x"].addressable_shards}
    print(f"rows of a batch on each device: {rows}")
    print(f"loss after {len(feed)} steps: {loss:.3f}. {batches.verdict()}")
    checked = held_out.to_jax(everywhere, finish=normalized)  # four devices cannot share its last batch equally
    right = np.concatenate([logits(parameters, batch["x"]).argmax(1) == batch["y"] for batch in checked])
    print(f"{right.mean():.1%} of {len(right)} digits held out are recognized")


if __name__ == "__main__":
    main()
