"""A contest held in a browser: the web, the judge and the database around `tracearena.contest`.

`create` makes a contest's folder, `serve` runs web and judge on it. The web process takes uploads and
shows pages; the judge, a process of its own and the only one with the key, checks, scores and publishes.
Rules, phases, checks and scores are those of `tracearena.contest`: nothing of the domain is here.

Rooms, each importing from those before it: `store` (folder, database, keys, jobs), `sandbox` (processes
that read uploads), `people`, `uploads`, `results`, `operations` (making, watching and backing up a contest),
`judging`, `api`, `site`.

Needs the extra ``server``.
"""
