"""The default recipe's inner loops, compiled by numba, a file for each concept.

`emission` and `posterior` are (steps, states): a step for each word to explain, a state for each word that
may explain it; the forward direction explains target words by source words. `ratio` is p(target, source) over
p(target) · p(source). Arrays of a tuple get names before a loop over cells: taking one out counts a
reference, which locks memory.

| file | what it computes |
|---|---|
| `types.py` | the tuples of arrays that the loops share |
| `tokens.py` | words of lines of UTF-8 as numbers |
| `vectors.py` | vectors of words, from the rows of a table |
| `exponentials.py`, `logarithms.py` | of many numbers at a time |
| `whole.py` | sums of whole numbers, the same in any order |
| `chain.py`, `lse.py`, `explain.py` | posteriors of one direction: by jumps, by the diagonal, or by either |
| `gradients.py`, `adam.py` | one step of learning |
| `descent.py`, `team.py` | many steps, and the threads that take them together |
| `emissions.py`, `posteriors.py` | ratios of a pair's words from vectors and counts, and their posteriors |
| `counting.py` | counts of linked words |
| `features.py`, `trees.py`, `refine.py` | numbers of cells, what trees say of them, refined links |
| `boost.py` | one tree of gradient boosting, for `tune` |
"""

from __future__ import annotations


def needs_compiling(*, learning: bool = True) -> bool:
    """Tell whether aligning, and learning if asked, must compile first: once an installation."""
    from bitweft.recipes.compile import is_compiled
    from bitweft.recipes.default.compiled.counting import add_counts
    from bitweft.recipes.default.compiled.descent import descend
    from bitweft.recipes.default.compiled.posteriors import posteriors
    from bitweft.recipes.default.compiled.refine import refine
    from bitweft.recipes.default.compiled.vectors import compose

    always = is_compiled(compose) and is_compiled(refine)
    learned = is_compiled(posteriors) and is_compiled(descend) and is_compiled(add_counts)
    return not (always and (learned or not learning))
