"""The load generator: a process of its own that measures an inference server under a fixed load.

It runs in a Job beside the server, or on a laptop through ``chaffinch probe run``. Measuring inside
the operator's process was rejected: a busy control loop bends every latency that it takes.

From the inside out: :mod:`~chaffinch.probe.sse` and :mod:`~chaffinch.probe.reading` turn bytes with
times into one request's outcome (pure), :mod:`~chaffinch.probe.client` makes a request,
:mod:`~chaffinch.probe.load` drives stages, :mod:`~chaffinch.probe.result` is what comes out, and
:mod:`~chaffinch.probe.server` hands it to the operator. :mod:`~chaffinch.probe.job` builds the Job.
"""
