"""A stand-in for a vLLM server on a GPU.

Canary rollouts are judged by what an inference server does under load, and no development machine has
the GPUs to run one. This package answers like vLLM (HTTP surface, command line, metrics), takes its time
like vLLM (a queue, continuous batching, a prefix cache, a paged KV cache) and breaks on request. One
image plays both sides of a rollout: a version differs from another in its arguments only.
"""
