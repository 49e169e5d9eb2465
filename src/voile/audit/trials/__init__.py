"""The library's own audits: for each mechanism and model, rows and a canary that bites."""
