"""Geometry of the charts: numbers in, positions out.

Positions are percentages of the plot area, x to the right and y downwards, so that every chart fits any width.
Nothing here knows HTML.
"""
