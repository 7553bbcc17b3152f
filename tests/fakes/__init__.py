"""Stand-ins for what is behind the ports, and time that passes only when everybody waits."""
