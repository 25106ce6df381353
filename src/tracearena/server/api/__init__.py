"""Everything a team can do, for programs: JSON under /api/v1, a bearer token, one shape of errors."""
