"""The NumPy twins of the native kernels: slow, plain, and what the kernels are tested against."""
