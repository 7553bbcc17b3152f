"""The process around the decisions: who leads, who is woken when, and what one pass of a rollout does.

Everything here may wait and may fail; nothing here decides. Decisions are functions of ``domain/``.
"""
