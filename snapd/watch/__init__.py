"""The clock: marks what may have changed in a work tree since the last scan."""
