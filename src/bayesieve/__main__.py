"""Entry point of `python -m bayesieve`, the command line."""

from __future__ import annotations

from bayesieve.cli import main

if __name__ == "__main__":
    main()
