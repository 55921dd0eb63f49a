"""Models at the tasks inside Inspect: the task, its solver and scorer, runs that go on where they stopped, and what their logs say.

Nothing here is imported unless it is asked for: Inspect is an optional package.
"""
