"""The page that people look at: one self-contained HTML file."""
