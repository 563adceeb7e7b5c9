"""Inner loops of the paper's recipe, compiled by numba: products of the cells alone, rows of tables."""
