"""Files and directories of a store: durable writes, walks, locks, the quarantine."""
