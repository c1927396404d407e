"""Figures that only studies draw."""
