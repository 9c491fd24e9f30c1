"""torch DataLoader, from process start to the first batch, without workers, because they take longer to start."""

import json
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader

options = json.loads(sys.argv[1])
loader = DataLoader(torch.from_numpy(np.load(options["data"])), batch_size=options["batch"], shuffle=True)
batch = next(iter(loader)).numpy()
print(json.dumps({"shape": batch.shape, "dtype": str(batch.dtype), "version": torch.__version__}), flush=True)
