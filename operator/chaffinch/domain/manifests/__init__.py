"""Builds the objects of a rollout's engines: one pure function per kind, each returning a whole manifest."""
