"""The same memory in the shapes of other systems. A facade owns names, types, defaults and errors, never storage."""
