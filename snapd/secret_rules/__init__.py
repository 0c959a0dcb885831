"""The built-in rules that detect secrets, `rules.toml`; `model/secrets.py` explains their fields."""
