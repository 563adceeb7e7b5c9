"""What pyproject.toml cannot say: README as PyPI shows it, with absolute links into the repository."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent


def long_description() -> str:
    """Return the README with absolute links; pictures come from GitHub's raw files."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [home] = re.findall(r'^Repository = "(.+)"$', project, re.M)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{home}/raw/HEAD/", text)
    text = re.sub(r"(\]\()(?=#)", rf"\1{home}", text)
    return re.sub(r"(\]\()(?!https?:)", rf"\1{home}/blob/HEAD/", text)


if __name__ == "__main__":
    from setuptools import setup

    setup(long_description=long_description(), long_description_content_type="text/markdown")
