"""What one operator costs with a thousand rollouts: its CPU, memory, passes, and what it writes at rest."""
