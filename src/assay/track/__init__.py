"""Track the Stat: for how many turns can a solver keep a running statistic in its head?

Numbers are shown one at a time; after each, the solver says the median (or the mode, …) of all numbers so far. The first wrong
or malformed answer ends the game, and the score is the number of right turns.
"""
