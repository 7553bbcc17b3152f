"""``make demo``: four versions of a simulated service on a real cluster, and what an SRE would read."""
