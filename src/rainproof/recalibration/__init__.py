"""Recalibration: maps from predictions to better ones, how they are fitted and chosen, and what is proven of them."""
