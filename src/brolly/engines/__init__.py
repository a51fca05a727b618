"""Where rows come from: each engine only compresses them to a `Sample`."""
