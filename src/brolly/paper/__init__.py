"""The paper, executable: its examples, tables, figures and claims."""
