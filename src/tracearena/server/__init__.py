"""A contest held in a browser: the web, the judge and the database around `tracearena.contest`.

`create` makes a contest's folder, `serve` runs web and judge on it. The web process takes uploads and
shows pages; the judge, a process of its own and the only one with the key, checks, scores and publishes.
Rules, phases, checks and scores are those of `tracearena.contest`: nothing of the domain is here.

Packages and modules, each importing from those before it: `models`, `store` (folder, database, keys, queue),
`sandbox` (processes that read uploads), `accounts` and `teams`, `uploads` and `submissions`, `results`,
`operations` (create, watch and back up a contest), `judge`, `api`, `web`, `processes`.

Needs the extra ``server``.
"""
