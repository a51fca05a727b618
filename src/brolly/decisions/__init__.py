"""Decisions: from a number to what to do. What is at stake, what trusting the forecast costs, and who is hurt most."""
