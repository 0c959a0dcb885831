"""Plain data, errors, paths and pure rules that all other packages may use."""
