"""Decisions: tasks, the loss of acting on predictions, the decision that loses most, and policies."""
