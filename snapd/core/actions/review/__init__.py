"""What agents left pending, and who wrote each line; see `snapd.core.review`."""
