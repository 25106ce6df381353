"""The processes of a contest that is served: the parent, the web, the judges."""
