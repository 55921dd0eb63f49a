"""Pages on which people attempt tasks, and their answers as a table of attempts."""
