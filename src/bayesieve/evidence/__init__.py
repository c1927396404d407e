"""Fit of contributions: the numbers in nats that add up to predictions, computed from counts, codes and weights.

A *level* is an interval of numbers or a group of categories; a *cell* is a level or a finer piece of one, and the
*code* of a row is the integer of its level or cell. The *contribution* of a cell to a class is what it adds to the log
joint, log P(class) + log P(cell | class). *Counted* contributions are weight times log P(level | class); *fitted* ones
add *deviations*, which all features estimate jointly from the rows.
"""
