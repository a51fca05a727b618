"""The assessment of a forecast: every result in one object, with a verdict in words."""
