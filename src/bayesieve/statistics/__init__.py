"""Performance measures."""
