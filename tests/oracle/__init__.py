"""The oracle: reads the API server's audit log and says which invariants our writes broke.

It knows nothing of the operator's code. It replays what was really written, in the order in which
the API server stored it, and checks every write of ours against what the cluster looked like then:

* I1, no black hole: a route write gives no weight to a revision without a Ready endpoint;
* I2, stable capacity: no write of ours takes the stable Deployment below the required replicas
  while it carries weight; of a stable whose pods nodes turn away, as its status tells, below those
  that are Ready;
* I3, no unearned weight: the canary's weight rises at most once per step, to that step's weight,
  and a later step begins only after a recorded Pass.
"""

from oracle.audit import Write, denied, read_writes
from oracle.invariants import Violation, check, wrote

__all__ = ["Violation", "Write", "check", "denied", "read_writes", "wrote"]
