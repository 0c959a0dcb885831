"""Files and directories of a store: written durably, walked, locked, put aside."""
