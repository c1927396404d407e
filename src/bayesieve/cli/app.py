"""Command line application: all commands with their options and help. Commands import their code only when they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bayesieve.cli.commands import (
    BENEFIT,
    COLUMNS,
    DEBUG,
    JOBS,
    LAB_MISSING,
    MODEL,
    QUIET,
    TABLE,
    TARGET,
    CommandError,
    Commands,
    Option,
    OptionValues,
    command,
    folder,
    plugins,
)

SELECTOR_TITLES = {
    "all": "every feature",
    "map": "the most probable subset",
    "bayesian": "average of models by posterior probability",
    "compression": "average of models by compression",
    "wrapper": "search by the classifier's own performance",
    "boosted": "boosted search by confident features",
    "clusters": "search in clusters of dependent features",
    "accuracy": "forward search by training accuracy",
    "auc": "forward search by training AUC",
    "information-gain": "filter by information gain",
    "imprecise-information-gain": "filter by imprecise information gain",
    "mrmr": "filter by minimal redundancy, maximal relevance",
    "cfs": "filter by correlations",
}
"""Title of each selector of bayesieve, for the help. Importing the selectors for their titles would take a second."""

_SELECTORS = [f"{name} ({title})" for name, title in SELECTOR_TITLES.items()]
_SELECTORS += sorted(point.name for point in plugins("selectors"))
_PUBLISHED = (
    "SNB(CMA), SNB(BMA), SNB(MAP), SNB(ACC), SNB(AUC), NB, NB(EF) (Boullé 2007); IIG-NB, IG-NB (Abellán 2017); "
    "forward, backward, forward-backward, backward-forward, mRMR (Rabenoro 2015); sparse-NB (Blanquero 2021); "
    "forward-MSE, boosted (Gidofalvi)"
)

FIT = {
    "": [TABLE],
    "Columns": [
        TARGET,
        Option(
            "--positive CLASS",
            "Class that reasons, signs, points, curves and texts are about.",
            default_in_words="the second of two",
        ),
        *COLUMNS,
        Option(
            "--id COLUMN",
            "Column that identifies rows; it is not a feature, but predict and explain write it; may be repeated.",
            [],
        ),
        Option("--time COLUMN", "Column of numbers or dates that orders the rows; it is not a feature."),
        Option(
            "--pairs PAIRS", "Pairs of columns as features: auto, their largest number, or pairs as A:B,C:D.", "auto"
        ),
        Option(
            "--levels FILE",
            "YAML file of rules for the levels of single columns: cuts and groups by hand, special values, "
            "monotone levels, columns to exclude or to keep; bayesieve levels writes one.",
            type=Path,
        ),
        Option("--labels FILE", "YAML file of readable names, units and texts of columns and levels.", type=Path),
        Option(
            "--quantiles N",
            "If TABLE is read in pieces: number of quantiles of a column with over 100,000 distinct numbers.",
            65_535,
        ),
    ],
    "Search": [
        Option("--selector -s NAME", f"Method to weigh features: {'; '.join(_SELECTORS)}.", "compression"),
        Option(
            "--as-published NAME",
            f"Method of a paper as printed, in place of --selector, --pairs, --prior and --calibrate: {_PUBLISHED}.",
            type=str,
        ),
        Option(
            "--scorecard",
            "Fit a points scorecard; it sets --selector and --calibrate. Levels in --levels stay, other columns get at "
            "most 7 levels, and pairs are used only with --pairs. More points make the class of --positive, by default "
            "the more frequent one, more likely. Also writes scorecard.csv.",
        ),
        Option(
            "--constraint MEASURE=BOUND",
            "Bound that a measure must beat, such as recall:bad=0.85, for the selectors clusters and wrapper; may be "
            "repeated.",
            [],
        ),
        Option("--refit", "For --selector clusters: fit the final model to all rows, not only to two thirds."),
        Option(
            "--max-seconds SECONDS",
            "Time limit of the search, which returns its best result so far; if reading takes too long, fewer pieces "
            "of TABLE are read.",
            type=float,
        ),
        Option("--calibrate NAME", "What is fitted after the search: auto, weights, levels, cells, none.", "auto"),
        Option(
            "--monotone COLUMN=SIGN",
            "Let contributions to the positive one of two classes never fall (+1) or never rise (-1) as COLUMN "
            "increases; may be repeated.",
            [],
        ),
        Option("--seed N", "Seed of the search.", 0),
        JOBS,
        Option("--engine WHERE", "Storage of codes and of the numbers of the search: memory or disk.", "memory"),
        Option("--memory-limit SIZE", "Read TABLE in pieces within this memory, such as 4GiB; folders always are."),
        Option("--dry-run", "Fit nothing; print what a fit would read and write, and its memory and time."),
    ],
    "Options": [BENEFIT],
    "Output": [
        folder("bayesieve-output"),
        Option("--folds N", "Cross-validation folds for the report's measures; 0: none.", 5),
        Option("--min-count N", "Hide counts of fewer rows in model.json and the report.", 1),
        Option("--test FILE", "Labelled table on which the model is measured, instead of folds.", type=Path),
        Option(
            "--test-from VALUE",
            "Exclude rows with --time of VALUE or later from the fit, and measure the model on them.",
        ),
        Option("--purpose TEXT", "Purpose of the model, for the first page of the report."),
        Option("--no-report", "Skip report.html and its measures."),
        QUIET,
    ],
}


@command(FIT, "bayesieve.cli.fit")
def fit(args: OptionValues) -> None:
    """Fit a model to TABLE.

    Writes model.json, features.csv and report.html, and prints a summary.

    Ctrl-C during the search keeps the best model so far.
    """


PREDICT = {
    "": [
        MODEL,
        TABLE,
        Option(
            "--output -o FILE",
            "File to write; its extension chooses CSV, TSV, Parquet or Arrow. Without extension: a folder, for one "
            "Parquet file for each file of TABLE. By default, and for -, CSV goes to standard output.",
            type=Path,
        ),
        Option(
            "--reasons N",
            "Add columns reason_1 to reason_N, the strongest reason first: reasons against the positive class or, if "
            "there is none, for the predicted class.",
            0,
        ),
        Option("--values", "Put the numbers of the row into the texts of reasons: amount 7,500 (more than 6,420)."),
        Option(
            "--code COLUMN=CODE",
            "Code of the reason that COLUMN gives, in columns reason_code_1 and on; may be repeated.",
            [],
            default_in_words="code: of the labels of the fit, if any",
        ),
        Option(
            "--threshold P",
            "Predict the positive one of two classes if its probability is at least P, from 0 to 1, otherwise the "
            "other class.",
            type=float,
            default_in_words="the more probable class",
        ),
        Option("--keep COLUMN", "Column of TABLE to write as well, or all; may be repeated.", []),
        Option(
            "--columns A,B,...",
            "Columns to write, in this order: of TABLE, prediction, probability (of the positive class), P(CLASS), and "
            "those of decisions and reasons; may be repeated.",
            [],
            default_in_words="those of --id in the fit, those of --keep, and all of predictions",
        ),
        BENEFIT,
        Option("--memory-limit SIZE", "Memory to stay within, such as 2GiB; 4GiB by default."),
        QUIET,
    ]
}


@command(PREDICT, "bayesieve.cli.models")
def predict(args: OptionValues) -> None:
    """Predict the class of every row of TABLE, with the probability of each class.

    Columns may be in any order; columns that MODEL does not use are ignored. TABLE may be a folder, or a pattern in
    quotes such as 'claims/*.parquet': Parquet and Arrow files of any size are predicted block by block. Run a command
    that was killed while it wrote a folder again to continue where it stopped.

    If MODEL or --benefit contains benefits, the decision with the largest expected benefit, and the expected benefit
    of each decision, are written, too.
    """


EXPLAIN = {
    "": [
        MODEL,
        TABLE,
        Option("--rows ROWS", "Rows, from 0, such as 0,5,10-12; by default the first 3, or all with --output."),
        Option("--against CLASS", "Show contributions to the log odds of the other classes against this one."),
        Option(
            "--output -o FILE",
            "CSV, TSV, Parquet or Arrow file to write, a line per row, class and feature; - is CSV on standard output.",
            type=Path,
        ),
    ]
}


@command(EXPLAIN, "bayesieve.cli.models")
def explain(args: OptionValues) -> None:
    """Explain the prediction of rows of TABLE.

    Every feature adds to the log probability of each class, in nats; prior and contributions add up to the total. For
    two classes, the printed lines show the log odds of the positive class.
    """


EXPORT = {
    "": [
        MODEL,
        Option(
            "--to NAME", "Target: sql, onnx, pmml, points, excel, python, javascript or r.", default_in_words="by FILE"
        ),
        Option("--output -o FILE", "File to write; its ending may choose the target; - is standard output.", ..., Path),
        Option("--name TEXT", "Name of the model in the file.", default_in_words="that of the target column"),
        Option("--counts", "Include the number of training rows of each cell."),
        Option("--reasons N", "For sql and pmml: number of reasons of each row.", type=int, default_in_words="none"),
        Option("--dialect NAME", "For sql: duckdb, sqlite, postgres, mysql, tsql, ...", default_in_words="duckdb"),
        Option("--table NAME", "For sql: the table to score.", default_in_words="data"),
        Option("--view NAME", "For sql: write CREATE VIEW NAME instead of a SELECT."),
        Option("--pdo N", "For points and excel: points that double the odds.", type=float, default_in_words="20"),
        Option("--base-score N", "For points and excel: score at the base odds.", type=float, default_in_words="600"),
        Option("--base-odds N", "For points and excel: odds at the base score.", type=float, default_in_words="30"),
        Option("--set NAME=VALUE", "Any other option of the target; may be repeated.", []),
    ]
}


@command(EXPORT, "bayesieve.cli.models")
def export(args: OptionValues) -> None:
    """Write MODEL for another system: databases, ONNX, PMML, spreadsheets, cards of points, Python, JavaScript, R.

    The other system computes the same probabilities as `predict`.
    """


@command({"": [MODEL, Option("--all", "List features that are not in the model as well.")]}, "bayesieve.cli.models")
def info(args: OptionValues) -> None:
    """Show the target, classes and features of MODEL, and how it was fitted."""


@command(
    {"": [MODEL, Option("--output -o FILE", "YAML file to write; by default standard output.", type=Path)]},
    "bayesieve.cli.models",
)
def levels(args: OptionValues) -> None:
    """Write the levels of MODEL as YAML, to be edited and read back by fit --levels.

    With an unedited file, a fit to the same rows gives the same model.
    """


ON_ROWS = [
    MODEL,
    TABLE,
    Option("--by COLUMN", "Column of the periods or segments of the rows; dates are grouped by --every."),
    Option("--every PERIOD", "Period by which dates are grouped: day, week, month, quarter or year.", "month"),
]
ROW_WEIGHT = Option("--weight COLUMN", "Column of row weights.")
MONITOR = {
    "": [
        *ON_ROWS,
        Option("--target -t NAME", "Column of the true classes, for measures of performance.", type=str),
        ROW_WEIGHT,
        Option(
            "--fail-if CONDITION",
            "Exit with status 1 if the condition, such as psi>0.25 or auc<0.7, holds in a period, or its measure has "
            "no value there; may be repeated. Measures of each feature: psi, psi_low, psi_high, unseen, missing, "
            "shift; of all rows: score_shift and, with --target, auc, gini, ks, log_loss, brier, calibration, "
            "calibration_slope. The signs of shifts and calibration are ignored.",
            [],
        ),
        folder("bayesieve-drift"),
        QUIET,
    ]
}


@command(MONITOR, "bayesieve.cli.watching")
def monitor(args: OptionValues) -> None:
    """Compare the rows of TABLE with the training rows of MODEL, period by period.

    Writes features.csv, periods.csv, levels.csv and drift.html, and prints a summary. The exit status is 1 if a
    condition of --fail-if holds, or its measure has no value.
    """


EVALUATE = {
    "": [
        *ON_ROWS,
        Option("--target -t NAME", "Column of the true classes.", type=str, default_in_words="that of MODEL"),
        ROW_WEIGHT,
        Option("--output -o DIR", "Folder to write measures.csv and gaps.csv into.", type=Path),
        QUIET,
    ]
}


@command(EVALUATE, "bayesieve.cli.watching")
def evaluate(args: OptionValues) -> None:
    """Measure MODEL on the rows of TABLE, all of them and by segment, with 95 % intervals."""


ABOUT_ROWS = [
    Option(
        "--test FILE",
        "Labelled rows that the model was not trained on, if TABLE is the training table.",
        type=Path,
    ),
    Option("--time COLUMN", "Column of numbers or dates: performance out of time, and stability by period."),
    Option("--by COLUMN", "Column whose values are segments, besides the columns of MODEL; may be repeated.", []),
    Option("--target -t NAME", "Column of the true classes.", type=str, default_in_words="that of MODEL"),
    ROW_WEIGHT,
    Option("--purpose TEXT", "Purpose of the model."),
    Option("--fact NAME=TEXT", "Further fact, such as Owner=Risk or 'Human oversight=...'; may be repeated.", []),
    Option("--min-count N", "Hide counts of fewer training rows.", 1),
    QUIET,
]
LABELLED = Option(
    "[TABLE]",
    "Labelled rows: the training rows, in any order, or others; without them nothing is measured.",
    type=Path,
)
REPORT = {
    "": [
        MODEL,
        LABELLED,
        Option("--output -o FILE", "HTML file to write.", Path("report.html"), Path),
        Option(
            "--challenger FILE",
            "Model that may replace MODEL: the page and the screen show tests of the differences, the rows that only "
            "one of them selects and, with --time, both by period.",
            type=Path,
        ),
        *ABOUT_ROWS,
    ]
}


@command(REPORT, "bayesieve.cli.reporting")
def report(args: OptionValues) -> None:
    """Write the report of MODEL, as fit does, on any rows, and compare it with a challenger."""


DOCUMENT = {
    "": [
        MODEL,
        LABELLED,
        Option("--output -o FILE", "HTML or Markdown file to write, such as validation.html.", ..., Path),
        *ABOUT_ROWS,
    ]
}


@command(DOCUMENT, "bayesieve.cli.reporting")
def document(args: OptionValues) -> None:
    """Write the validation document of MODEL, with fields to complete by hand and to sign.

    Sections refer to Annex IV of the EU AI Act and to model risk management (SR 26-2). It does not claim compliance.
    """


MODEL_FILE = Option("--output -o FILE", "Model file to write, such as model.json.", ..., Path)


@command({"": [Option("MODEL...", "Models that `fit` wrote.", type=list[Path]), MODEL_FILE]}, "bayesieve.cli.models")
def merge(args: OptionValues) -> None:
    """Merge MODELs that were fitted with the same levels to different rows, such as months or places, into one.

    To give them the same levels, write those of the first by bayesieve levels, and fit the others with --levels.
    """


UPDATE = {
    "": [
        MODEL,
        TABLE,
        Option("--target -t NAME", "Column of the true classes.", type=str, default_in_words="that of MODEL"),
        ROW_WEIGHT,
        MODEL_FILE,
    ]
}


@command(UPDATE, "bayesieve.cli.models")
def update(args: OptionValues) -> None:
    """Update MODEL with the further rows of TABLE; its levels stay as they are."""


@command(
    {"": [Option("[FAMILY]...", "Kernels to compile; all by default.", type=list[str])], "Output": [QUIET]},
    "bayesieve.cli.compiling",
)
def compile_kernels(args: OptionValues) -> None:
    """Compile all kernels before the first fit, with one process for each core.

    Without it, a fit compiles kernels when it needs them, once after an installation or an update.
    """


def _show_version(is_given: bool) -> None:
    """Print the versions and end the command, if the option is given."""
    if is_given:
        import platform
        from importlib.metadata import version

        from bayesieve.version import __version__

        others = [
            f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "scikit-learn", "polars", "narwhals")
        ]
        typer.echo(f"bayesieve {__version__}\nPython {platform.python_version()}, {', '.join(others)}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for function in (fit, predict, explain, info, levels, export, merge, update, evaluate, monitor, report, document):
    app.command()(function)
app.command("compile")(compile_kernels)


def _add_commands_of_packages() -> None:
    """Add the commands of installed packages. A command whose package is missing or fails to import reports that when
    it is called.
    """
    unavailable = {name: (f"{text} (needs bayesieve-lab).", LAB_MISSING.format(name)) for name, text in _OF_LAB.items()}
    for point in plugins("commands"):
        try:
            app.command(point.name)(point.load())
            unavailable.pop(point.name, None)
        except (Exception, SystemExit) as error:  # another package may raise anything when imported
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            message = f"The command {point.name} cannot be imported ({reason}); update or uninstall its package"
            unavailable[point.name] = (f"Cannot be imported: {reason}.", message)
    for name, (text, message) in unavailable.items():
        app.command(name, help=text, context_settings=_ANY_ARGUMENTS)(_refusal(message))


def _refusal(message: str) -> Callable[[], None]:
    """Return a command that only raises CommandError with this message."""

    def refuse() -> None:
        """Raise CommandError: the command is not available."""
        raise CommandError(message)

    return refuse


_OF_LAB = {
    "compare": "Compare selectors and other classifiers by cross-validation",
    "reproduce": "Reproduce the results of papers",
}
_ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}
_add_commands_of_packages()


@app.callback(invoke_without_command=True)
def bayesieve(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the versions of bayesieve, Python and libraries, and exit.",
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help=DEBUG.help)] = False,
) -> None:
    """Selective naive Bayes: a raw table becomes a small, calibrated and explained classifier.

    Tables are CSV, TSV, Parquet, Arrow or Excel files with numbers, categories, dates and missing values mixed.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
