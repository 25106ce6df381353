"""What a contest keeps: its folder and database, keys, sealed files, jobs, scores, the log, and files to save."""
