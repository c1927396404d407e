"""The best method of each paper, our default, gradient boosting and EBM on the paper's sets by its protocol."""
