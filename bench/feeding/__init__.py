"""Feeding a training step on a device: a table for this machine, `make gpu-check`."""
