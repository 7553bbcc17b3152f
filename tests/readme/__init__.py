"""The pages, followed: a reader types what they say, in their order, into a cluster without Chaffinch."""
