"""What the judge does: check, draw pseudonyms, score, publish, and score again."""
