"""Implementations of the ports: one module per thing outside, and the only ones that know its library."""
