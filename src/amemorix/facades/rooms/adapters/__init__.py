"""Where rooms are kept; each module but `kernel` and `in_memory` needs the client of its database."""
