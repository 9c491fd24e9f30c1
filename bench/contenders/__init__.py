"""One folder per side, one file per workload: `version()`, and `build(options)` which returns `run(tally, number)`."""
