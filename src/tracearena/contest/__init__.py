"""The contest as a pure domain: rules, phases, release, board and awards; no web, no database.

`Rules` and `Schedule` say what holds and when (`phase_at`). At the end of the anonymization phase
`pseudonymise` makes the release and `commit` fixes its ID table. From `UtilityRecord` and
`AttackRecord` comes the `Board` (`make_board`), and from the board come the `awards`. `run_sweep`
tries many defences against an `Ensemble` of attacks; `rehearse` holds a whole contest with invented
teams; `write_contest_data` makes every team's traces, `fairness` tells how equal they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
