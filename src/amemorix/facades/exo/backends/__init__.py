"""The stores of Exo by their names: each over this memory, but for that of PostgreSQL."""
