"""The page that people look at: one self-contained HTML file."""

from brolly.report.html import render, to_html, write

__all__ = ["render", "to_html", "write"]
