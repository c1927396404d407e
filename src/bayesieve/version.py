"""Version of the package, in a module of its own so that every layer can import it."""

__version__ = "0.2.0"
