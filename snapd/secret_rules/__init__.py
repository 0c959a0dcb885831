"""The list of rules about secrets that snapd brings, `rules.toml`; `model/secrets.py` says what each has."""
