"""Searches for the best subset of features.

A problem (`SubsetProblem`) names the candidate features and an objective: a criterion, such as the cost of Boulle
(2007) or the error of cross-validation, on given rows. A search walks from subset to subset. A *move* adds or drops one
feature; a *walk* is the sequence of accepted moves from one starting subset; a *trace* records all evaluated subsets.
"""

from bayesieve.criteria import ScoredRows
from bayesieve.engine.progress import Clock
from bayesieve.search.clusters import ClusterCandidates, ClusterSearch, FeatureClusters
from bayesieve.search.exhaustive import ExhaustiveSearch
from bayesieve.search.greedy import DIRECTIONS, BestFirst, GreedySearch, RankedPath
from bayesieve.search.problem import Constraint, MultiStart, Objective, Search, SearchState, SubsetProblem, first_record
from bayesieve.search.subset_values import SubsetValues, evaluate_subsets
from bayesieve.search.trace import SearchTrace, StepRecorder, TraceRecorder, WalkStart

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
    "RankedPath",
    "ScoredRows",
    "Search",
    "SearchState",
    "SearchTrace",
    "StepRecorder",
    "SubsetProblem",
    "SubsetValues",
    "TraceRecorder",
    "WalkStart",
    "evaluate_subsets",
    "first_record",
]
