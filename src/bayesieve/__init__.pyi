# The public names, each imported when it is first used: importing the package costs next to nothing.
from . import datasets as datasets
from .classifier import (
    DiscreteNB as DiscreteNB,
    SelectiveNB as SelectiveNB,
    as_published as as_published,
    load as load,
    merge as merge,
)
from .counts import (
    CodedTable as CodedTable,
)
from .decision import (
    BenefitClassifier as BenefitClassifier,
    ThresholdTuner as ThresholdTuner,
    calibration_summary as calibration_summary,
    gains_curve as gains_curve,
    profit_curve as profit_curve,
    total_benefit as total_benefit,
)
from .discretize import (
    EqualFrequencyDiscretizer as EqualFrequencyDiscretizer,
    EqualWidthDiscretizer as EqualWidthDiscretizer,
    IndicatorEncoder as IndicatorEncoder,
    MDLPDiscretizer as MDLPDiscretizer,
    MODLDiscretizer as MODLDiscretizer,
    MODLGrouper as MODLGrouper,
    TableEncoder as TableEncoder,
)
from .evaluation import (
    challenge as challenge,
    drift as drift,
    evaluate as evaluate,
)
from .report import (
    explanation_figure as explanation_figure,
    feature_figure as feature_figure,
    gains_figure as gains_figure,
    importance_figure as importance_figure,
    path_figure as path_figure,
    profit_figure as profit_figure,
    reliability_figure as reliability_figure,
)
from .selection import (
    AccuracySelector as AccuracySelector,
    AllFeatures as AllFeatures,
    AUCSelector as AUCSelector,
    BayesianAveraging as BayesianAveraging,
    BoostedSelector as BoostedSelector,
    CFSSelector as CFSSelector,
    CompressionAveraging as CompressionAveraging,
    DependenceClusterSelector as DependenceClusterSelector,
    ImpreciseInformationGainSelector as ImpreciseInformationGainSelector,
    InformationGainSelector as InformationGainSelector,
    MAPSelector as MAPSelector,
    MRMRSelector as MRMRSelector,
    WrapperSelector as WrapperSelector,
    pair_statistics as pair_statistics,
)
from .table import (
    FeatureLevels as FeatureLevels,
)
from .table.cautions import (
    CautionWarning as CautionWarning,
)
from .table.scanning import (
    scan as scan,
)
from .version import __version__ as __version__
