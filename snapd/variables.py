"""Environment variables by which one process of snapd tells another something."""

RECORDED = "SNAPD_RECORDED"
"""Set for an agent whose work is recorded already: its hooks only tell it what others did."""
