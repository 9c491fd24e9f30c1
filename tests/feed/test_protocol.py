"""Every feed passes the conformance suite, on every kind of device that there is."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.nested.structure import flatten, unflatten
from penstock.feed.feed import FrameworkFeed, Here
from penstock.feed.torch import OnDevice
from penstock.testing.feeds import verify_feed
from tests.feed.streams import FakeStreams


def back(leaf_to_numpy):
    def to_numpy(batch):
        leaves, structure = flatten(batch)
        return unflatten(structure, list(map(leaf_to_numpy, leaves)))

    return to_numpy


def from_torch(leaf):
    torch = pytest.importorskip("torch")
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if leaf.layout == torch.jagged:
        return ps.Ragged.from_torch(leaf)
    return ps.Sparse.from_torch(leaf) if leaf.is_sparse else leaf.numpy(force=True)


def from_jax(leaf):
    jax = pytest.importorskip("jax")
    if hasattr(leaf, "n_sparse"):
        return ps.Sparse.from_jax(leaf)
    if isinstance(leaf, ps.Ragged):
        return ps.Ragged(np.asarray(leaf.flat_values), np.asarray(leaf.row_splits))
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


@pytest.mark.parametrize("depth", [1, 3])
def test_in_memory(depth):
    verify_feed(lambda ds: FrameworkFeed(ds, Here(lambda array: array), depth), lambda batch: batch)


@pytest.mark.parametrize("depth", [None, 2])
def test_torch_on_the_cpu(depth):
    pytest.importorskip("torch")
    verify_feed(lambda ds: ds.to_torch(depth=depth), back(from_torch))


def feed_beside_fake_steps(ds, depth, **options):
    torch = pytest.importorskip("torch")
    placement = OnDevice(torch, torch.device("cpu"), None, FakeStreams(torch), **options)
    return FrameworkFeed(ds, placement, depth)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_torch_with_streams_that_copy_at_the_last_moment(depth):
    verify_feed(lambda ds: feed_beside_fake_steps(ds, depth), back(from_torch))


def test_torch_with_a_device_without_streams():
    torch = pytest.importorskip("torch")

    def on_device(ds):
        return FrameworkFeed(ds, OnDevice(torch, torch.device("cpu"), None, None), 2)

    verify_feed(on_device, back(from_torch))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_torch_on_cuda(depth):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    verify_feed(lambda ds: ds.to_torch("cuda", depth=depth), back(from_torch))


@pytest.mark.parametrize("depth", [None, 2])
def test_jax_on_the_cpu(depth):
    pytest.importorskip("jax")
    verify_feed(lambda ds: ds.to_jax(depth=depth), back(from_jax))


@pytest.mark.parametrize("depth", [1, 2])
def test_jax_on_its_first_device(depth):
    jax = pytest.importorskip("jax")
    verify_feed(lambda ds: ds.to_jax(jax.devices()[0], depth=depth), back(from_jax))
