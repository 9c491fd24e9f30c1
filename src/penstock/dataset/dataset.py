"""The one public class of pipelines."""

from __future__ import annotations

from penstock.dataset.handle import T_co
from penstock.dataset.inspect import Inspect
from penstock.dataset.methods.buffer import Buffer
from penstock.dataset.methods.combine import Combine
from penstock.dataset.methods.elementwise import Elementwise
from penstock.dataset.methods.group import Group
from penstock.dataset.methods.keyed import Keyed
from penstock.dataset.methods.mixtures import Mixtures
from penstock.dataset.methods.order import Order
from penstock.dataset.methods.read import Read
from penstock.dataset.methods.uneven import Uneven
from penstock.dataset.methods.write import Write


class Dataset(
    Read[T_co],
    Elementwise[T_co],
    Order[T_co],
    Group[T_co],
    Uneven[T_co],
    Keyed[T_co],
    Combine[T_co],
    Mixtures[T_co],
    Buffer[T_co],
    Inspect[T_co],
    Write[T_co],
):
    """A pipeline: an immutable description of a source of elements and the operations on them.

    Nothing runs until the dataset is iterated. Every transformation returns a new dataset and leaves this one
    unchanged.

    >>> ds = Dataset.range(6).shuffle(seed=0).map(lambda x: x * 2).batch(4)
    >>> len(ds)
    2
    >>> sorted(x for batch in ds for x in batch.tolist())
    [0, 2, 4, 6, 8, 10]
    """
