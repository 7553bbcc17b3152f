"""The router's agent: a process of its own beside each Envoy.

It turns the rollout's route and the Ready endpoints of its revisions into Envoy's configuration,
and Envoy's access log into exact, latched counters per revision. It needs neither the operator nor
the API server to keep serving what it last accepted.
"""
