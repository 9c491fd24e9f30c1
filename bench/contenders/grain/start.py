"""Grain, from process start to the first batch, without reader threads, because they take longer to start."""

import json
import sys

import grain
import numpy as np

options = json.loads(sys.argv[1])
ds = grain.MapDataset.source(np.load(options["data"])).shuffle(seed=0).batch(options["batch"])
batch = next(iter(ds.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))))
print(json.dumps({"shape": batch.shape, "dtype": str(batch.dtype), "version": ""}), flush=True)
