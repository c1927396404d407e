"""Changes of a table that mean nothing."""

from __future__ import annotations

from bayesieve import SelectiveNB
from tests.fuzz.case import Case, operation
from tests.fuzz.relations import RELATIONS, difference, random_example


@operation(0.3)
def relation(case: Case) -> None:
    """The model of a changed table predicts what that of the table does."""
    example = random_example(case.rng, case.integer(30, 300))
    options = {"calibrate": case.pick(("cells", "levels", "weights")), "n_jobs": 1}
    name = case.pick([name for name, one in RELATIONS.items() if one.within < 1.0])
    case.note(f"{name} {options}")
    with case.step("fit", must=True):
        model = SelectiveNB(**options).fit(example.X, example.y)
    with case.step(name, must=True):
        found = difference(example, name, case.rng, model)
    within = 1e-9 if options["calibrate"] == "weights" else RELATIONS[name].within
    case.check(found <= within, f"{name} means nothing", found)
