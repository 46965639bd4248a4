"""What a claim costs on a table that has grown."""
