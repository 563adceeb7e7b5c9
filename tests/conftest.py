"""Settings of every test."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no fault of the code: no deadline for a single example.
settings.register_profile("weft", deadline=None)
settings.load_profile("weft")
