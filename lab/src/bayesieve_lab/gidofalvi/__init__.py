"""Reproduction of Gidofalvi & Zadrozny: feature selection for class probabilities, and the profit of letters to
donors.
"""
