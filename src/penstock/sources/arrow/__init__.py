"""Arrow and Parquet files, and what all readers of tables share."""
