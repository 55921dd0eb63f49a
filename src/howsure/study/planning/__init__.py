"""What a study can show, before anyone rates."""
