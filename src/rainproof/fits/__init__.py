"""What is fitted in more than one package: the logistic regression and the bins.

Whatever is fitted for one purpose stays with it: maps in `recalibration`, tests and proofs in
`inference`. Isotonic regression is in `core.curve`, whose curves are made of it.
"""
