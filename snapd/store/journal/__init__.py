"""The journal: many small writes become durable by one append."""
