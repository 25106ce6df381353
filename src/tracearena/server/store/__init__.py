"""What a contest keeps: folder, database, keys, sealed files, jobs, scores, the log, and files to save."""
