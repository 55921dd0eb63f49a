"""How many attempts a novice would need to match a model (NAME)."""
