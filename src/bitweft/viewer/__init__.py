"""Alignments to look at: a page for the browser, a picture, a grid for the terminal."""

from bitweft.viewer.grid import LEGEND, text_grid
from bitweft.viewer.page import page
from bitweft.viewer.picture import svg

__all__ = ["LEGEND", "page", "svg", "text_grid"]
