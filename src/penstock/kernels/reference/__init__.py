"""The NumPy twins of the native kernels: slow, plain references for tests."""
