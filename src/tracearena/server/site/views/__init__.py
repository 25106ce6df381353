"""The pages: for visitors, for teams, for organisers."""
