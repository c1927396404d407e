# The public names, each imported when it is first used.
from .comparison.comparing import (
    compare as compare,
    compare_many as compare_many,
)
from .comparison.critical_difference import (
    critical_difference_figure as critical_difference_figure,
)
from .comparison.differences import (
    average_ranks as average_ranks,
    corrected_resampled_t as corrected_resampled_t,
    critical_difference as critical_difference,
    friedman as friedman,
    paired_t as paired_t,
    ranks as ranks,
    wilcoxon_holm as wilcoxon_holm,
    wins_and_losses as wins_and_losses,
)
from .comparison.folds import (
    FixedSplit as FixedSplit,
    RepeatedFolds as RepeatedFolds,
    TimeFolds as TimeFolds,
)
from .comparison.results import (
    Comparison as Comparison,
)
from .comparison.stability import (
    SelectionStability as SelectionStability,
    selection_stability as selection_stability,
)
from .comparison.stability_figure import (
    stability_figure as stability_figure,
)
from .random_sums import (
    RandomSums as RandomSums,
)
from .registry import (
    PAPERS as PAPERS,
    make_study as make_study,
)
from .study import (
    Options as Options,
    Report as Report,
    Study as Study,
)
