"""Penstock: the input pipeline for training runs.

>>> import penstock as ps
>>> ds = ps.Dataset.range(10).shuffle(seed=0).map(lambda x: x * x).batch(4)
>>> sum(len(batch) for batch in ds)
10
"""

from penstock.core.options import AUTOTUNE as AUTOTUNE
from penstock.core.options import Options as Options
from penstock.dataset.dataset import Dataset as Dataset
from penstock.plan.node import INFINITE as INFINITE
from penstock.plan.node import UNKNOWN as UNKNOWN
