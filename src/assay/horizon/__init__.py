"""How many attempts would a novice need to match a model, and how many minutes an expert?"""
