"""Measurements that ship: how well the memory recalls, and how fast it is."""
