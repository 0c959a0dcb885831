"""Sessions on other machines: pushing, fetching, handing over, taking over."""
