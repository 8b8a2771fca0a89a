"""The search for retrieval settings that suit the user's own data."""
