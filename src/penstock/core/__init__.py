"""The foundation of all packages: errors, options, optional imports, row-keyed seeds."""
