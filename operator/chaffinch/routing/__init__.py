"""Traffic routers: the route that a rollout wants, and the manifests of the router that serves it."""
