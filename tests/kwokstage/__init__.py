"""What pods without containers would answer: routers' agents, probe workers, and the Prometheus behind them.

KWOK's pods have addresses and nobody at them. A :class:`Stage` watches which pods there are and answers at
port 9090 of each as the program in it would: an agent acknowledges the route that is stored, a worker hands
over the result of its plan. The Prometheus answers the operator's raw
queries from a script instead of from scrapes, so that a step's evidence is there at once.
"""

from kwokstage.background import Background
from kwokstage.evidence import Script
from kwokstage.stage import Stage

__all__ = ["Background", "Script", "Stage"]
