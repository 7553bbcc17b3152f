"""Whole rollouts on a real cluster."""
