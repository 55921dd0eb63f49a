"""What tables of scores, scales, trends and robustness look like."""
