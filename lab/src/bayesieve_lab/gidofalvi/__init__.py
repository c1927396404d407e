"""Reproduction of Gidofalvi & Zadrozny: feature selection for class probabilities, and the profit of letters to donors.

A *campaign* is a set of donors, some of whom get a letter; a letter pays if the expected gift exceeds its cost.
"""
