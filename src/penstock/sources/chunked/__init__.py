"""Arrays stored in chunks: HDF5 and Zarr."""
