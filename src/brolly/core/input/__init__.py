"""How arrays, tables and labels become checked rows."""
