"""Version ``v1alpha1`` of the custom resources, as frozen models.

Specs are read with the functions of :mod:`chaffinch.api.v1alpha1.parse`, which check every rule;
absent fields get their meaning in :mod:`chaffinch.api.v1alpha1.strategy`.
"""
