"""Classifiers: `SelectiveNB` for raw tables, with decisions, explanations, files and reports, and `DiscreteNB` for
codes.
"""

from bayesieve.classifier.combining import merge
from bayesieve.classifier.discrete import DiscreteNB
from bayesieve.classifier.persistence import load
from bayesieve.classifier.published import as_published
from bayesieve.classifier.selective import SelectiveNB

__all__ = ["DiscreteNB", "SelectiveNB", "as_published", "load", "merge"]
