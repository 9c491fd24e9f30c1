"""Arrow and Parquet files, and the parts that all readers of tables share."""
