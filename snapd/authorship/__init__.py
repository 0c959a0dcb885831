"""Who wrote the lines that commits of the project's git brought, in the formats of other tools."""
