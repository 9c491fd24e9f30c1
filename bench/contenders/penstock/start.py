"""Penstock, from process start to the first batch."""

import json
import sys

import numpy as np

import penstock as ps

options = json.loads(sys.argv[1])
ds = ps.Dataset.from_tensor_slices(np.load(options["data"])).shuffle(seed=0).batch(options["batch"])
batch = next(iter(ds))
print(json.dumps({"shape": batch.shape, "dtype": str(batch.dtype), "version": ""}), flush=True)
