"""The language of Chaffinch's custom resources: models, rules and the generator of the CRDs."""
