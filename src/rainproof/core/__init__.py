"""The sample and its exact compression; no measures."""
