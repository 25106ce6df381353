"""A team's side of a contest on a server: download, check, hand in, watch; by the API alone.

`connection.Client` talks, `transfers` carries files up and down so that a broken line does no harm,
`checking` is the judge's own checker at home, `keeping` keeps the token. Nothing here needs Django.

Needs the extra ``client``.
"""
