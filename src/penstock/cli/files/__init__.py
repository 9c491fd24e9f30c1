"""The commands on data files: index, inspect, peek, convert."""
