"""Fixtures that every kind of test may use."""

pytest_plugins = ["localcluster.fixtures"]
