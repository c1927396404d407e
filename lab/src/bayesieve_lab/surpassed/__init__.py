"""Comparison of the best method of each paper, our default, gradient boosting and EBM, on the paper's data.

Rows are split as in the paper. A *contest* is the comparison on the data of one paper; the *default* is `SelectiveNB`
without options.
"""
