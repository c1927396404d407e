"""Where rows come from: files, and tables of other engines, in pieces that can be read again and again."""

from __future__ import annotations

from bayesieve.table.sources.base import Piece, Source
from bayesieve.table.sources.scanning import scan

__all__ = ["Piece", "Source", "scan"]
