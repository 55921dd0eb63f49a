"""A model as a rater: asking it, its ratings, and its validation against people."""
