"""The one public class of pipelines."""

from __future__ import annotations

from penstock.dataset.explaining import Explaining
from penstock.dataset.handle import T_co
from penstock.dataset.inspect import Inspect
from penstock.dataset.methods.buffer import BufferMethods
from penstock.dataset.methods.combine import CombineMethods
from penstock.dataset.methods.elementwise import ElementwiseMethods
from penstock.dataset.methods.group import GroupMethods
from penstock.dataset.methods.keyed import KeyedMethods
from penstock.dataset.methods.mixtures import MixtureMethods
from penstock.dataset.methods.order import OrderMethods
from penstock.dataset.methods.ranks import RankMethods
from penstock.dataset.methods.read import ReadMethods
from penstock.dataset.methods.uneven import UnevenMethods
from penstock.dataset.methods.write import Write
from penstock.dataset.preview import Preview
from penstock.dataset.training import Training


class Dataset(
    ReadMethods[T_co],
    ElementwiseMethods[T_co],
    OrderMethods[T_co],
    RankMethods[T_co],
    GroupMethods[T_co],
    UnevenMethods[T_co],
    KeyedMethods[T_co],
    CombineMethods[T_co],
    MixtureMethods[T_co],
    BufferMethods[T_co],
    Inspect[T_co],
    Explaining[T_co],
    Preview[T_co],
    Training[T_co],
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
