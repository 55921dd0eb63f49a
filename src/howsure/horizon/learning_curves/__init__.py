"""How novices' success at each task grows from attempt to attempt."""
