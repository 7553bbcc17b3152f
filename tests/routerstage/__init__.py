"""A router on loopback: a real Envoy, the real agent, small upstreams, and an API server to watch."""
