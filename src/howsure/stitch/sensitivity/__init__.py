"""What a conclusion depends on: other settings, left-out parts, held-out scores, a look by eye."""
