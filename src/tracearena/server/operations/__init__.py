"""What an organiser does: make a contest, move its phases, watch it, back it up, practise it."""
