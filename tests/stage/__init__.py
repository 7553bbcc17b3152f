"""What demo and end-to-end tests share: Chaffinch installed by its chart, simulated services, users.

Everything here talks to the cluster as a user would, through kubectl and helm, and runs inside the
cluster's network (``python -m localcluster exec -- ...``).
"""
