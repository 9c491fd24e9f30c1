"""tf.data, from process start to the first batch."""

import json
import sys

import numpy as np
import tensorflow as tf

options = json.loads(sys.argv[1])
ds = tf.data.Dataset.from_tensor_slices(np.load(options["data"])).shuffle(10_000).batch(options["batch"])
batch = next(ds.as_numpy_iterator())
print(json.dumps({"shape": batch.shape, "dtype": str(batch.dtype), "version": tf.__version__}), flush=True)
