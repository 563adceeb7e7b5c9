"""`python -m bitweft` is `bitweft`."""

import sys

from bitweft.cli import main

if __name__ == "__main__":
    sys.exit(main())
