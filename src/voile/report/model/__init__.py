"""The report of a model, with its ledger, and cards for notebooks."""
