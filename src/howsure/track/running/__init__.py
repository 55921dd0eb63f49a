"""Track the Stat inside Inspect: the task, its solver and scorer, players as models, runs and what their logs say.

Nothing here is imported unless it is asked for: Inspect is an optional package.
"""
