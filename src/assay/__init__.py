"""Measure what AI can do, and say how sure one can be."""
