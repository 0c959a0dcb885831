"""The ground of the engine: plain data, errors, paths and pure rules, which every other room may use."""
