"""Gidofalvi & Zadrozny: features selected for class probability estimation, and the profit of letters to donors."""
