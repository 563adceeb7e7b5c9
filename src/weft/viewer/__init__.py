"""Alignments to look at: a page for the browser, a picture, a grid for the terminal."""

from weft.viewer.grid import LEGEND, text_grid
from weft.viewer.page import page
from weft.viewer.picture import svg

__all__ = ["LEGEND", "page", "svg", "text_grid"]
