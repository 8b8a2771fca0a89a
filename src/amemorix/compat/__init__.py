"""The memory behind the interfaces of other memories."""
