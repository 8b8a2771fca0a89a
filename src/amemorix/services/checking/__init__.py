"""The examination of a running memory, and the mending of what it finds."""
