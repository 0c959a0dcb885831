"""The tools that the server offers: `table` lists them."""
