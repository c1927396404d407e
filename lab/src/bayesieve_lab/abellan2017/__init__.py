"""Abellan & Castellano (2017): selection by imprecise information gain."""
