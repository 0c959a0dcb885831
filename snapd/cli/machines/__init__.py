"""The commands about other machines."""
