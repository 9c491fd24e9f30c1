"""The benchmarks: one workload a file, each beside its limit and its peers. `python -m bench` lists them."""
