"""The wire contract: the values, the table of methods, the errors, and what is generated from them."""
