"""Private tables in files, CSV, Excel, Parquet and Arrow: nothing outside privacy/ opens one."""
