"""One object that holds all there is to say about a forecast."""
