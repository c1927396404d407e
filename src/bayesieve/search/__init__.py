"""How subsets of features are walked: the state of a subset, the searches, and the trace they leave."""

from bayesieve.search.exhaustive import search_exhaustively
from bayesieve.search.greedy import DIRECTIONS, GreedySearch
from bayesieve.search.multi_start import MultiStart
from bayesieve.search.scored_rows import ScoredRows
from bayesieve.search.state import SearchState, SubsetProblem
from bayesieve.search.trace import SearchTrace, TraceRecorder

__all__ = [
    "DIRECTIONS",
    "GreedySearch",
    "MultiStart",
    "ScoredRows",
    "SearchState",
    "SearchTrace",
    "SubsetProblem",
    "TraceRecorder",
    "search_exhaustively",
]
