"""The game itself: sequences, statistics, prompts, parsing, players, endings."""
