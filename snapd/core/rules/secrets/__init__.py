"""Which files likely hold secrets: by their names, and by what is in them."""
