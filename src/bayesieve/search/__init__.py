"""How subsets of features are walked, and the record of the walk."""

from bayesieve.search.exhaustive import search_exhaustively
from bayesieve.search.multi_start import MultiStart
from bayesieve.search.state import SearchState, SubsetProblem
from bayesieve.search.trace import SearchTrace, TraceRecorder

__all__ = ["MultiStart", "SearchState", "SearchTrace", "SubsetProblem", "TraceRecorder", "search_exhaustively"]
