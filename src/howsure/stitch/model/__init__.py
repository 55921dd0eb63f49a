"""From a table of scores to parameters: arrays, kernels, Newton steps, what fixes the scale, refits."""
