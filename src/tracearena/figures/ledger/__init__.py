"""What five papers say, figure by figure, and whether it holds here.

A `Row` is one figure, table or stated finding: the command that tries it, what of the command's output is
looked at, and what is published. A row without a command names the data that is missing. What the
commands printed is kept in ``measured``, one file a command, with version and seed; the page of
the documentation is made from both, and no number of ours is typed by hand.
"""
