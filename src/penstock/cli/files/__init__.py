"""What the commands on data files do: index, inspect, peek, convert."""
