"""The operator as a process that dies, sleeps and loses its API server, in front of a real one.

The process is ``python -m chaffinch``. Between it and the API server is a fault proxy (``tests/faultproxy``);
pods are KWOK's, and what they would answer comes from a script (``tests/kwokstage``), so a whole rollout
takes seconds. Everything else is real: API server, controllers, scheduler, roles, audit log.
"""
