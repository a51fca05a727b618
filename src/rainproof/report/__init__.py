"""The report: one self-contained HTML page on an assessment."""

from rainproof.report.html import to_html

__all__ = ["to_html"]
