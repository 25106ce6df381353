"""Who takes part: teams, members, links by which they come in, passwords, sessions and tokens."""
