"""The commands about rollouts: what an SRE on call reads, and what they may ask for.

What is shown is made by pure functions from the objects of the API (:mod:`snapshot`), so that it says the
same as the conditions do; how it is drawn is a matter of :mod:`chaffinch.cli.screen`.
"""
