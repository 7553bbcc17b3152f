"""What the decisions need from the outside world, as small protocols with no implementation.

``adapters/`` implements them for production, ``tests/fakes/`` for tests. Everything that can go wrong
behind a port is said in the port's own words (see :mod:`chaffinch.ports.cluster` for the errors), so that
no caller ever handles an exception, or shows a text, of somebody else's library.
"""
