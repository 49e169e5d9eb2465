"""Private tables in files, CSV, Parquet and Arrow: nothing outside privacy/ opens one."""
