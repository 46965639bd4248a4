"""Compare the in-memory ledger with another one, on programs that hypothesis makes."""
