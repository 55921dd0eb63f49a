"""`howsure summary`, `compare`, `power`, …: one module per verb."""
