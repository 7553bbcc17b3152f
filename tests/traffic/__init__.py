"""A small, bounded traffic maker that plays the users of an inference service.

It sends streaming chat requests at a fixed rate through the front door and counts what a user would have
seen, second by second and by the revision that answered. It knows nothing of the operator, so that its
counts are an independent check of what the operator claims.
"""
