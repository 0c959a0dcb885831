"""Which names of the work tree are captured."""
