"""What is shown of scores: boards, awards, commitments, and contests of the past."""
