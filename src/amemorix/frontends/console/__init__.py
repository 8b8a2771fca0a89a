"""The console in the browser: pages over the table of operations, rendered here, without a network beyond the daemon."""
