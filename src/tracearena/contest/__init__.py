"""The contest as a pure domain: rules, phases, release, board and awards; no web, no database.

`Rules` and `Schedule` say what holds and when (`phase_at`). At the end of the anonymization phase
`tracearena.arena.pseudonymise` makes the release and `commit` fixes its ID table. From `UtilityRecord`
and `AttackRecord` comes the `Board` (`make_board`), and from the board come the awards (`make_awards`).
`simulate_contest` holds a whole contest with invented teams.

By files: `write_contest_data` makes a folder for each reader, `read_submissions` looks through what
teams handed in, `release_all` gives out pseudonyms, `attack_all` runs the judge's own attacks, `judge`
checks and scores everything, and `write_results` writes it down. `read_score_tables` takes scores alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
