"""The list of rules about secrets that snapd brings, `rules.toml`; `core/rules/secrets.py` says what each has."""
