"""A server in the place of a model: it answers what real agents ask from a script, in the dialects that they speak."""
