"""How subsets of features are walked: problems, objectives, states of subsets, searches, and the trace they leave."""

from bayesieve.search.best_first import BestFirst
from bayesieve.search.clusters import ClusterCandidates, ClusterSearch, FeatureClusters
from bayesieve.search.exhaustive import ExhaustiveSearch
from bayesieve.search.greedy import DIRECTIONS, GreedySearch
from bayesieve.search.multi_start import MultiStart
from bayesieve.search.objective import Constraint, Objective
from bayesieve.search.problem import Problem, Search, State, StepRecorder, first_record
from bayesieve.search.recorder import Clock, TraceRecorder
from bayesieve.search.scored_rows import ScoredRows
from bayesieve.search.state import SearchState, SubsetProblem
from bayesieve.search.subset_values import SubsetValues, evaluate_subsets
from bayesieve.search.trace import SearchTrace

__all__ = [
    "DIRECTIONS",
    "BestFirst",
    "Clock",
    "ClusterCandidates",
    "ClusterSearch",
    "Constraint",
    "ExhaustiveSearch",
    "FeatureClusters",
    "GreedySearch",
    "MultiStart",
    "Objective",
    "Problem",
    "ScoredRows",
    "Search",
    "SearchState",
    "SearchTrace",
    "State",
    "StepRecorder",
    "SubsetProblem",
    "SubsetValues",
    "TraceRecorder",
    "evaluate_subsets",
    "first_record",
]
