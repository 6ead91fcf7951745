"""Random draws: alias tables, rows of distinct values, social graphs."""
