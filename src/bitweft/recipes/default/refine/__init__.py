"""The refiner: a second look at the cells of a pair, by numbers that mean the same in any language."""
