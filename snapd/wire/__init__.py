"""What goes over the wire: the values, one table of methods, the errors, and what is generated from them."""
