"""Ratios against what a user would otherwise run, side by side in one process."""
