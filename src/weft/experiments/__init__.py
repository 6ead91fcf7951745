"""What to run for each table and figure of the papers, and what the papers say of them."""
