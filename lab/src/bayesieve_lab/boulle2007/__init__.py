"""Boulle (2007): compression-based averaging of selective naive Bayes classifiers."""
