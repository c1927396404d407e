"""Rabenoro, Lacaille, Cottrell & Rossi (2015): search strategies for binary features."""
