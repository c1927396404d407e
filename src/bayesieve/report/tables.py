"""Tables of texts that appear both on the report page and in the validation document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesieve import words

if TYPE_CHECKING:
    from bayesieve.report.report import ReportData

MAX_CONFUSION_CLASSES, N_CONFUSIONS = 26, 12
_MOST_LINES = 200  # lines of a table below a figure; the data of the figure contain all lines
MEASURES = {
    "auc": ("AUC", "0.5 is chance, 1 is perfect"),
    "gini": ("Gini coefficient", "2 AUC − 1; 0 is chance"),
    "ks": ("Kolmogorov-Smirnov statistic", "the largest distance of both classes' distribution functions"),
    "log_loss": ("Log loss, nats", "{entropy} by predicting the class frequencies"),
    "compression_rate": ("Compression rate", "0 by predicting the class frequencies"),
    "brier": ("Brier score", "0 is perfect"),
    "accuracy": ("Accuracy", "{majority} by always predicting the majority class"),
    "balanced_accuracy": ("Balanced accuracy", "the mean recall"),
    "calibration": ("Mean probability less share", "0: as many rows as predicted"),
    "calibration_slope": ("Calibration slope", "1: probabilities are as far from each other as they should be"),
    "calibration_intercept": ("Calibration intercept", "0, with slope 1"),
}
"""Title of each performance measure, and the reference value in words."""


@dataclass(frozen=True)
class PrintedTable:
    """Table of texts with a title. In a cell, text after a line break is printed smaller, below the first line.

    Attributes
    ----------
    heads, rows : titles of the columns, and the cells row by row
    title, note : title and explaining sentence, which may be empty
    texts : positions of the columns that hold text rather than numbers
    minor : positions of the columns that narrow screens hide
    kind : "sortable", "items" (names with their content) or "matrix" (counts by two classes)
    n_rows : number of rows of the whole table if ``rows`` are only the first ones; otherwise None
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    texts: Sequence[int] = (0,)
    minor: Sequence[int] = ()
    kind: str = "sortable"
    n_rows: int | None = None

    @property
    def cut(self) -> str:
        """Sentence that states how many rows are hidden; empty if all rows are shown."""
        n = len(self.rows)
        return f"The first {n:,} of {self.n_rows:,} lines." if self.n_rows is not None and n < self.n_rows else ""

    @classmethod
    def of_frame(
        cls, frame: Mapping[str, Sequence[Any]], heads: Mapping[str, str], title: str = "", shares: Sequence[str] = ()
    ) -> PrintedTable:
        """Return a table of the first rows of a frame, a mapping from column names to lists.

        ``heads`` maps the columns to show to their titles, ``shares`` names the columns to print in percent, and
        ``title`` is that of the table.
        """
        columns = [
            [
                words.format_percent(value) if name in shares else cell_text(value, name)
                for value in frame[name][:_MOST_LINES]
            ]
            for name in heads
        ]
        texts = [k for k, name in enumerate(heads) if not any(isinstance(value, int | float) for value in frame[name])]
        n_rows = len(next(iter(frame.values()), ()))
        return cls(list(heads.values()), list(zip(*columns, strict=True)), title, texts=texts, n_rows=n_rows)


def cell_text(value: Any, column: str = "") -> str:
    """Return a value of a frame as text. ``column`` is the name of its column: p-values are expected if it begins with
    ``p_``.
    """
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float) and column.startswith("p_"):
        return words.p_text(value).removeprefix("p ")
    if isinstance(value, float):
        return words.format_number(value, 4 if abs(value) < 10 else 0 if value.is_integer() else 1)
    if isinstance(value, int):
        return f"{value:,}"
    return words.ABSENT if value is None else name_text(value, 80)


def name_text(name: object, most: int = 60) -> str:
    """Return a name from the data as text of at most ``most`` characters."""
    return words.shorten(words.not_blank(str(name)), most)


def interval_text(estimate: Sequence[float | None] | None, digits: int = 4) -> str:
    r"""Return an estimate (value, low, high) as text with ``digits`` decimals. Unless it is unbounded, the interval is
    on a second line.

    Examples
    --------
    >>> interval_text((0.8, 0.75, 0.85), 2), interval_text(None)
    ('0.80\n(0.75 to 0.85)', '–')
    """
    value, low, high = estimate or (None, None, None)
    text = words.format_number(value, digits)
    if low is None or high is None or not high - low < 9e99:
        return text
    return f"{text}\n({words.format_number(low, digits)} to {words.format_number(high, digits)})"


def shared_tables(data: ReportData) -> dict[str, PrintedTable | None]:
    """Return the tables that the page and the validation document share, by name; None for those without content."""
    names = [name_text(label, 80) for label in data.classes]
    total = sum(data.class_counts) or 1
    rows = [
        (name, words.format_count(n), words.format_percent(n / total))
        for name, n in zip(names, data.class_counts, strict=True)
    ]
    left_out = [
        (name_text(reason, 200), words.format_count(len(names)), words.listed([*map(name_text, names)], 100))
        for reason, names in data.left_out.items()
    ]
    is_measured = data.performance is not None
    measured = f" Measured: {data.performance.measured}." if is_measured and data.performance.measured else ""
    return {
        "classes": PrintedTable(("Class", "Training rows", "Share"), rows, "Classes"),
        "left_out": PrintedTable(("Reason", "Number", "Names"), left_out, "Left out", texts=(0, 2))
        if left_out
        else None,
        "measures": measures_table(data) if is_measured else None,
        "confusion": confusion_table(data, measured) if is_measured else None,
        "strategy": strategy_table(data, measured) if is_measured and data.performance.thresholds else None,
        "rules": rules_table(data),
        "edits": edits_table(data),
    }


def measures_table(data: ReportData) -> PrintedTable:
    """Return the table of performance measures with their intervals, a column for each sample of rows, and a last one
    with the values of trivial predictions for comparison.
    """
    samples, measured, positive = data.samples, data.performance, data.positive
    rows = [["Rows", *(words.format_count(one.class_rows.sum()) for one in samples), ""]]
    if len(data.classes) == 2:
        share = data.class_counts[positive] / (sum(data.class_counts) or 1)
        counts = (words.format_count(one.class_rows[positive]) for one in samples)
        rows.append([f"Rows of {name_text(data.classes[positive], 40)}", *counts])
        rows[-1].append(f"{words.format_percent(share)} of the training rows")
    if any(one is measured.later or one.rows.moments is not None for one in samples):
        rows.append(["Time", *(time_of(one, samples) for one in samples), ""])
    about = {"entropy": words.format_number(measured.class_entropy, 4)}
    about["majority"] = words.format_percent(measured.majority_accuracy)
    for name, (title, comparison) in MEASURES.items():
        if name in measured.estimates:
            estimates = (interval_text(one.estimates.get(name)) for one in samples)
            rows.append([title, *estimates, comparison.format(**about)])
    heads, last = ("Measure", *(one.name for one in samples), "To compare"), len(samples) + 1
    return PrintedTable(heads, rows, "Measures, with 95% intervals", texts=(0, last), minor=(last,))


def time_of(sample: Any, samples: Sequence[Any]) -> str:
    """Return whether all rows of a sample are later than the training rows, in words: "out of time", "in time", or
    "unknown" if times are unknown.

    ``sample`` is a `Performance`, and ``samples`` are all performances of the report.
    """
    if any(sample is one.later for one in samples):
        return "out of time"
    if sample.is_training:
        return "in time"
    trained = next((one.rows.moments for one in samples if one.is_training), None)
    if trained is None or sample.rows.moments is None:
        return "unknown"
    return "out of time" if sample.rows.moments.min() > trained.max() else "in time"


def confusion_table(data: ReportData, measured: str) -> PrintedTable:
    """Return the number of rows by true and predicted class; for many classes, only the most frequent confusions.

    ``measured`` is a sentence, with a blank before it, on the rows and models behind the numbers; it may be empty.
    """
    matrix = data.performance.confusion
    if len(matrix) <= MAX_CONFUSION_CLASSES:
        heads = ("True class", *(name_text(label, 16) for label in data.classes))
        rows = [
            (name_text(label, 30), *map(words.format_count, row))
            for label, row in zip(data.classes, matrix, strict=True)
        ]
        note = f"Rows of each true class (down) by predicted class (across).{measured}"
        return PrintedTable(heads, rows, "Confusion matrix", note, kind="matrix")
    wrong = [(n, i, j) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    lines = [
        (*(name_text(data.classes[k]) for k in (i, j)), words.format_count(n), words.format_percent(n / sum(matrix[i])))
        for n, i, j in sorted(wrong, key=lambda cell: (-cell[0], cell[1], cell[2]))[:N_CONFUSIONS]
    ]
    heads = ("True class", "Predicted as", "Rows", "Share of the true class")
    return PrintedTable(heads, lines, "Most frequent confusions", measured.strip(), texts=(0, 1))


def strategy_table(data: ReportData, measured: str) -> PrintedTable:
    """Return the table of score bands, with the result of approving all rows in each band and above. ``measured`` is as
    in `confusion_table`.
    """
    label, other = (name_text(data.classes[k], 30) for k in (data.positive, 1 - data.positive))
    rows = []
    for one in data.performance.bands():
        row = [f"{words.format_number(one['low'], 4)} to {words.format_number(one['high'], 4)}"]
        row += [words.format_count(one["rows"]), words.format_count(one["events"])]
        shares = ("event_rate", "approval_rate", "approved_event_rate", "avoided_events")
        rows.append([*row, *(words.format_percent(one[name]) for name in shares), words.format_number(one["ks"])])
    heads = (f"Probability of {label}", "Rows", f"Rows of {other}", f"Rate of {other}", "Approval rate")
    note = (
        f"If rows with a high probability of {label} are approved: bands of about as many rows each, the highest "
        "first. The approval rate is the share of rows in this band and all above; beside it, the share of "
        f"{other} among those approved, and among all {other} the share that is avoided.{measured}"
    )
    return PrintedTable(
        (*heads, f"{other} among approved", f"{other} avoided", "KS"), rows, "Strategy table", note, minor=(1, 2)
    )


def rules_table(data: ReportData) -> PrintedTable | None:
    """Return the table of a user's rules for the levels of columns (cuts, groups and codes) with their measured effect;
    None if there are no rules.
    """
    ruled = [one for one in data.features if one["by_hand"]]
    two, measured = len(data.classes) == 2, any(one["effect"] for one in ruled)
    has_gains = any(one["gain"] is not None for one in data.features)
    heads = ["Column", "Rule", "Levels"] + ["Learnt levels", "By hand", "Learnt"] * measured
    heads += ["Information value"] * two + ["Held-out gain"] * has_gains + ["Importance"]
    rows = []
    for one in ruled:
        row = [name_text(one["name"]), words.shorten(one["by_hand"], 400), words.format_count(one["n_levels"])]
        if effect := one["effect"]:
            row.append(words.format_count(effect.n_learnt))
            row += [words.format_number(effect.by_hand, 4), words.format_number(effect.learnt, 4)]
        elif measured:
            row += [""] * 3
        row += [words.format_number(one["information_value"])] * two
        row += [words.format_number(one["gain"] if one["selected"] else None, 4)] * has_gains
        rows.append([*row, words.format_percent(one["importance"]) if one["selected"] else "not in the model"])
    note = (
        "By hand and learnt: mean nats by which the column alone lowers the log loss of held-out rows, with these "
        "levels and with those that the other rows give without the rule."
    )
    title = "Cuts, groups and codes given before the fit"
    return PrintedTable(heads, rows, title, note * measured, texts=(0, 1)) if ruled else None


def edits_table(data: ReportData) -> PrintedTable | None:
    """Return the table of edits by hand after the fit: effect, author, time and reason; None if there are no edits."""
    rows = []
    for one in data.edits:
        pairs = ((one.auc_before, one.auc_after), (one.log_loss_before, one.log_loss_after))
        effects = [
            "" if after is None else f"{words.format_number(before, 4)} → {words.format_number(after, 4)}"
            for before, after in pairs
        ]
        texts = [words.shorten(one.before, 300), words.shorten(one.after, 300)]
        feature = name_text("the model" if one.feature is None else one.feature)
        reason = words.shorten(one.why, 300) or "No reason was given."
        rows.append([f"{one.what}\n{feature}", *texts, *effects, f"{name_text(one.who)}, {one.when[:10]}\n{reason}"])
    heads = ("Edit", "Before", "After", "AUC", "Log loss", "Who, when and why")
    note = f"{words.plural(len(rows), 'change')} made to the model after it was fitted, in their order."
    if any(one.log_loss_before is not None for one in data.edits):
        note += " AUC and log loss were measured on rows given, just before and after each."
    return PrintedTable(heads, rows, "Edits after the fit", note, texts=(0, 1, 2, 5), minor=(3, 4)) if rows else None
