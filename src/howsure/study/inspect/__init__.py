"""A model as a rater inside Inspect: the task, its solver and scorer, and runs that go on where they stopped.

Nothing here is imported unless it is asked for: Inspect is an optional package.
"""
