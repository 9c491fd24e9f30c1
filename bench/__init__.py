"""Benchmarks: one file per workload, each compared with its limit and its peers. `python -m bench` lists them."""
