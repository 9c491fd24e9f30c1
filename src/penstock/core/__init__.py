"""What every room stands on: errors, options, optional imports, row-keyed seeds."""
