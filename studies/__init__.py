"""Studies of what brolly claims: seeded, each a command, with results committed under docs/data."""
