"""The methods of Abellan & Castellano (2017), and the small data sets of a quick trial."""

from __future__ import annotations

S = 1.0
"""Parameter s of the imprecise Dirichlet model, section 5."""
ALPHAS = (0.01, 0.05, 0.1, 0.2)
"""Thresholds of the information gain as shares of ln(number of classes). Section 5 uses four; our copy of the paper
lost their values (see docs/reproduction/abellan2017.md).
"""
PLAIN, IMPRECISE = "NB", "NB after IIG"
PRECISE = tuple(f"NB after IG({alpha:g})" for alpha in ALPHAS)
METHODS = (PLAIN, IMPRECISE, *PRECISE)
"""The columns of tables 3 to 6 in their order."""

QUICK = ("breast_cancer_ljubljana", "hepatitis", "lymphography", "vote", "zoo")
"""Data sets of a quick trial."""
