"""Word alignment from parallel text alone."""

__version__ = "0.1.0"
