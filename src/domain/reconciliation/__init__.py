"""Does the database say of each intent what the ledger did? Pure: the evidence is given."""
