"""`python -m bayesieve`."""

from __future__ import annotations

from bayesieve.cli import main

if __name__ == "__main__":
    main()
