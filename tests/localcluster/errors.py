"""The one kind of error that this program reports: what is wrong, and what to do about it."""

PROGRAM = "PYTHONPATH=tests .venv/bin/python -m localcluster"
"""How a person runs this program in the root of the repository; `make` sets these things up for itself."""


class ClusterError(Exception):
    """Something a person can act on; the command line prints it on one line and exits with 1."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}. Do: {remedy}")
        self.problem = problem
        self.remedy = remedy
