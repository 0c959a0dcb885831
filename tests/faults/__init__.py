"""Faults at every step: kills, errors of the system and delays, and what must hold after each of them."""
