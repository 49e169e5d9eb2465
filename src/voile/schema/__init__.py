"""What is public about a table: columns, bounds, categories, classes, row count."""
