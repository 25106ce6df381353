"""The contest as a pure domain: rules, phases, release, board and awards; no web, no database.

`Rules` and `Schedule` define the rules and the phases (`phase_at`). At the end of the anonymization phase,
`tracearena.arena.pseudonymise` makes the release and `commit` publishes a hash of its ID table. `make_board`
computes the `Board` from records (`UtilityRecord`, `AttackRecord`), and `make_awards` the awards from the
board. `simulate_contest` holds a whole contest with invented teams.

For a contest by files, `write_contest_data` makes one folder per recipient, `read_submissions` reads the
submissions, `release_all` assigns pseudonyms, `attack_all` runs the judge's own attacks, `judge` checks and
scores everything, and `write_results` writes the results. `read_score_tables` reads tables of scores without
files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
