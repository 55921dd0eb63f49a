"""What a conclusion rests on: other settings, left-out parts, held-out scores, a look by eye."""
