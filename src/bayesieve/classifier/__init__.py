"""`SelectiveNB`: from a raw table to decisions, explanations, a file and a report."""

from bayesieve.classifier.persistence import load
from bayesieve.classifier.selective import SelectiveNB

__all__ = ["SelectiveNB", "load"]
