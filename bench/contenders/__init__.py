"""One folder a side, one file a workload: `version()`, and `build(options)` which returns `run(tally, number)`."""
