"""What Legrand, Auli and Collobert (2016) print: tables 1 to 5, by text, cell and row.

The rows of a cell are the two directions and what was symmetrized of them; tables 1 and 2 have AER alone,
tables 3 to 5 P, R, F1 and AER. The paper's P and F1 agree with its AER only if precision counts sure links
alone; bitweft's precision counts possible links as right. Recall and AER are the same.
"""

from __future__ import annotations

from typing import TypeAlias

ROWS = ("forward", "backward", "symmetrized")
Figures: TypeAlias = tuple[float, ...]

AGGREGATIONS: dict[str, dict[str, tuple[float, float, float]]] = {
    "en-fr": {"max": (18.1, 20.7, 14.8), "sum": (23.0, 26.9, 24.1), "lse": (15.1, 15.8, 12.8)},
    "ro-en": {"max": (42.2, 40.4, 36.4), "sum": (42.0, 40.2, 35.6), "lse": (37.6, 35.7, 32.2)},
    "en-cs": {"max": (27.9, 26.5, 21.8), "sum": (35.6, 33.6, 32.7), "lse": (24.5, 24.5, 21.0)},
}
FEATURES: dict[str, dict[str, tuple[float, float, float]]] = {
    "en-fr": {
        "words": (22.2, 24.2, 15.7),
        "+ POS": (20.9, 23.9, 15.3),
        "+ diag": (15.1, 15.8, 12.8),
        "+ POS + diag": (13.2, 12.1, 10.2),
    },
    "ro-en": {
        "words": (47.0, 45.5, 40.3),
        "+ POS": (45.3, 42.9, 36.9),
        "+ diag": (37.6, 35.7, 32.2),
        "+ POS + diag": (33.1, 32.2, 27.8),
    },
    "en-cs": {
        "words": (36.9, 36.3, 29.5),
        "+ POS": (35.6, 33.7, 28.2),
        "+ diag": (24.8, 24.5, 21.0),
        "+ POS + diag": (24.6, 22.9, 19.9),
    },
}
BASELINE = "fast_align of the paper"
LANGUAGES: dict[str, dict[str, tuple[Figures, Figures, Figures]]] = {
    "en-fr": {
        BASELINE: ((49.6, 89.8, 63.9, 16.7), (52.9, 88.4, 66.2, 16.2), (69.6, 84.0, 76.1, 11.4)),
        "single": ((64.7, 80.7, 71.8, 13.2), (61.7, 86.3, 72.0, 12.1), (60.4, 88.5, 71.8, 10.2)),
        "+ ensemble": ((61.5, 85.8, 71.6, 11.6), (62.6, 86.7, 72.7, 11.6), (59.3, 89.9, 71.4, 9.7)),
    },
    "ro-en": {
        BASELINE: ((70.0, 61.0, 65.2, 34.8), (71.3, 60.8, 65.6, 34.4), (69.5, 66.5, 68.0, 32.0)),
        "single": ((75.1, 65.2, 69.8, 30.2), (78.1, 61.7, 69.0, 31.1), (74.1, 71.8, 73.0, 27.0)),
        "+ ensemble": ((75.8, 62.8, 68.7, 31.3), (78.4, 63.2, 70.0, 30.0), (73.0, 74.5, 73.7, 26.0)),
    },
    "en-cs": {
        BASELINE: ((68.4, 73.3, 70.7, 26.6), (68.6, 74.0, 71.2, 25.7), (88.1, 66.6, 76.0, 22.8)),
        "single": ((72.0, 74.3, 73.1, 24.6), (74.1, 74.0, 74.0, 22.9), (75.7, 80.3, 76.3, 19.9)),
        "+ characters": ((73.8, 75.4, 74.6, 23.2), (78.1, 74.1, 76.1, 21.4), (76.9, 81.3, 79.1, 17.8)),
        "+ ensemble": ((78.8, 77.2, 78.0, 20.0), (79.1, 77.7, 78.4, 18.7), (78.9, 83.2, 81.0, 15.8)),
    },
}
