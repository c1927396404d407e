"""Commands on fitted models: `bayesieve info`, `predict`, `explain`, `levels`, `export`, `merge` and `update`.

``args`` holds the values of the options as attributes. A source (`Scan`) is a table that is read block by block.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from bayesieve.cli import compiling, files
from bayesieve.cli.commands import (
    CommandError,
    Heading,
    OptionValues,
    Screen,
    assigned,
    interruptible,
    names_in,
    numbers,
    require_choice,
)
from bayesieve.cli.files import amounts_of
from bayesieve.words import format_count, named, plural, quoted, shorten, visible

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.decision import BenefitRule
    from bayesieve.table.scans import Scan

_MOST_CLASSES = 6
_MOST_UNSEEN = 50  # columns whose share of unseen values is printed
_BLOCK_ROWS = 1 << 13  # rows per block; each becomes a line for every feature and class
_FIRST = 3  # rows shown by default, as the help of `explain` says
_MOST_VALUE, _MOST_LEVEL, _MOST_TITLE = 24, 32, 16  # characters
_PART = re.compile(r"\s*([0-9]{1,18})\s*(?:-\s*([0-9]{1,18})\s*)?")


def predict(args: OptionValues) -> None:
    """Predict every row of a table and write the predictions."""
    from bayesieve.classifier.scored_files import PredictedRows
    from bayesieve.classifier.scoring import prediction_names
    from bayesieve.decision import BenefitRule
    from bayesieve.engine.progress import RowProgress
    from bayesieve.scorecard.direction import REASONS, directions, warn_of_direction
    from bayesieve.table.writing import is_folder

    screen, table, output = Screen(args.quiet), args.table, args.output
    if args.reasons < 0:
        raise CommandError(f"--reasons must be a number of reasons, at least 0, got {args.reasons}")
    if (args.values or args.code) and not args.reasons:
        raise CommandError(f"--{'values' if args.values else 'code'} needs reasons; set their number with --reasons")
    to_folder = not files.to_stdout(output) and is_folder(output)
    (files.check_folder if to_folder else files.check_output)(output)
    model = files.read_model(args.model, screen)
    codes = assigned(args.code, str, "--code must be a column and its code, such as income=R07")
    reasons = ReasonColumns(model, args.reasons, args.values, codes or None)
    rule = model.benefit_rule_ if args.benefit is None else BenefitRule.read(args.benefit, model.classes_)
    source = files.source_to_score(model, table, output, screen)
    decisions = [] if rule is None else decision_names(rule)
    add: dict[str, Any] = {}
    if rule is not None:
        add = {"add": partial(decision_columns, rule, model, table), "add_key": repr(rule)}
        add["also"] = [rule.amount] if rule.amount in source.names else []
    ids = _ids(model, source, table, screen)
    copied = "all" if args.keep == ["all"] and "all" not in source.names else list(dict.fromkeys([*ids, *args.keep]))
    if args.columns:
        if args.keep:
            raise CommandError("--columns already names all columns to write; remove --keep")
        results = [*prediction_names(model), *reasons.names, *decisions]
        columns = _requested_columns(args.columns, model, source.names, results)
        copied = [name for name in dict.fromkeys(columns.values()) if name not in results]
        add["column_names"] = columns
    if args.threshold is not None:
        _check_threshold(args.threshold, model)
        add["add_key"] = f"{add.get('add_key', '')} threshold {args.threshold!r}"
        add["add"] = partial(decided_columns, model, args.threshold, add.get("add"))
    if args.reasons:
        warn_of_direction(model.scorecard_, [REASONS])
        add["add_key"] = f"{add.get('add_key', '')} reasons {reasons.n} {reasons.values} {reasons.codes}"
        add["add"] = partial(reasons.beside, add.get("add"))
    scored = PredictedRows.of(model, source, copied, args.memory_limit, max_named=_MOST_UNSEEN, **add)
    added = dict.fromkeys(reasons.names, "reason")
    added |= dict.fromkeys(decisions, "decision")
    if clash := next((name for name in added if name in scored.keep), None):
        raise CommandError(f"Column {quoted(clash)} has the name of a {added[clash]}; rename it or omit it from --keep")
    unfinished = "no predictions were written"
    if to_folder:
        unfinished = f"finished files are in {output}; run the same command to continue from there"
    progress = RowProgress("Predicting", source.n_rows, source.n_bytes, verbose=int(not args.quiet))
    with compiling.announced(screen), interruptible(unfinished), files.locating(table), progress, ExitStack() as stack:
        if to_folder:
            scored.write_folder(output, progress)
        else:
            scored.write(stack.enter_context(files.written(output)), progress)
    if not files.to_stdout(output):
        screen.line(f"{plural(source.n_rows, 'prediction')} in {output}")
    if args.reasons:
        direction = directions(model.scorecard_, [REASONS], None, model.target_name_)[REASONS]
        (screen.note if files.to_stdout(output) else screen.line)(f"reasons {direction}")


def _ids(model: Any, source: Scan, table: Path, screen: Screen) -> list[str]:
    """Return the identifier columns of a model that the table contains. Warn about missing ones."""
    if lacking := [name for name in model.id_columns_ if name not in source.names]:
        screen.warn(f"{files.shown(table)} lacks the identifier {named(lacking)}; the results do not contain it")
    return [name for name in model.id_columns_ if name in source.names]


def _requested_columns(
    texts: Sequence[str], model: Any, table_columns: Sequence[str], results: Sequence[str]
) -> dict[str, str]:
    """Return the source of each column that the option --columns requests: a dict from names to write to names of
    columns of the table or of the predictions.

    Parameters
    ----------
    texts : values of the option, each with one or several names; "probability" stands for that of the positive class.
    model : fitted model.
    table_columns : names of the columns of the table.
    results : names of the columns of the predictions.
    """
    by_text: dict[str, str] = {name: name for name in (*table_columns, *results)}
    if model.scorecard_.positive is not None:
        by_text["probability"] = f"P({model.classes_.tolist()[model.scorecard_.positive]})"
    names = [name for text in texts for name in ([text] if text in by_text else names_in(text))]
    if "probability" in names and "probability" not in by_text:
        raise CommandError("The model has no positive class; name P(CLASS) in --columns instead of probability")
    for name in names:
        require_choice(name, by_text, "column")
    if not names:
        raise CommandError("--columns must name columns, such as prediction,probability")
    return {name: by_text[name] for name in names}


def explain(args: OptionValues) -> None:
    """Explain the predictions of rows of a table."""
    from bayesieve.classifier.scoring import explain_rows, training_columns

    files.check_output(args.output)
    screen, table, output = Screen(), args.table, args.output
    model = files.read_model(args.model, screen)
    against = None if args.against is None else _class_named(args.against, model)
    source = files.source_to_score(model, table, output, screen)
    ids = _ids(model, source, table, screen)
    if args.rows is None and output is not None:
        with files.locating(table), compiling.announced(screen):
            _write_all(model, source, output, ids, against)
        _end(source.n_rows, output, screen)
        return
    chosen = list(range(min(_FIRST, source.n_rows))) if args.rows is None else chosen_rows(args.rows, source.n_rows)
    block = _rows_of(source, chosen)
    X = training_columns(model, block)
    what = f"Explaining {plural(len(chosen), 'row')} ..."
    with files.locating(table, rows=chosen), compiling.announced(screen), screen.working(what):
        explanation = replace(explain_rows(model, X, "score"), rows=np.array(chosen))
    if output is not None:
        shown = explanation if against is None else explanation.against(against)
        files.write_frame(_identified(shown, block, ids), output)
        _end(len(chosen), output, screen)
        return
    if against is None and explanation.classes.size == 2:  # show log odds of the positive class
        against = model.classes_.tolist()[1 - model.scorecard_.positive]
    shown = explanation if against is None else explanation.against(against)
    for at in range(len(chosen)):
        identifiers = ", ".join(f"{visible(name)} {shorten(visible(block[name][at]), _MOST_VALUE)}" for name in ids)
        _show_row(screen, explanation, shown, against, at, f" ({identifiers})" if identifiers else "")
    if args.rows is None and source.n_rows > len(chosen):
        more = format_count(source.n_rows - len(chosen))
        screen.note(f"{more} more rows: choose rows with --rows, or write all with --output")


def _class_named(text: str, model: Any) -> Any:
    """Return the class label with this text. Raise CommandError if no class has it."""
    classes = {str(label): label for label in model.classes_.tolist()}
    require_choice(text, classes, "class")
    return classes[text]


def levels(args: OptionValues) -> None:
    """Write the levels of a model as YAML."""
    screen = Screen()
    text = files.read_model(args.model, screen).levels_to_yaml(None if files.to_stdout(args.output) else args.output)
    if files.to_stdout(args.output):
        typer.echo(text.encode(), nl=False)  # as UTF-8 on every terminal
    else:
        screen.line(f"levels in {args.output}")


_EXPORT_OPTIONS = ("name", "reasons", "dialect", "table", "view", "pdo", "base_score", "base_odds")


def export(args: OptionValues) -> None:
    """Write a model as a file for another system."""
    screen, output = Screen(), args.output
    options = {name: getattr(args, name) for name in _EXPORT_OPTIONS if getattr(args, name) is not None}
    for text in args.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise CommandError(f"--set must be NAME=VALUE, got {quoted(text)}")
        options[name.replace("-", "_")] = _plain(value)
    if args.counts:
        options["counts"] = True
    to_stdout = files.to_stdout(output)
    model = files.read_model(args.model, screen)
    content = model.export(None if to_stdout else output, args.to, **options)
    if to_stdout:
        typer.echo(content if isinstance(content, bytes) else content.encode(), nl=False)
    else:
        screen.line(f"model in {output}")


def _plain(text: str) -> Any:
    """Return the value of --set as a number, boolean or other JSON value if it is one, otherwise as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def merge(args: OptionValues) -> None:
    """Merge the model files ``args.model`` into one model by adding up their counts, and write it to ``args.output``.

    The models need equal classes, columns and levels.
    """
    from bayesieve.classifier.combining import merge as merged

    screen = Screen()
    _save(merged([files.read_model(path, screen) for path in args.model]), args.output, screen)


def update(args: OptionValues) -> None:
    """Add the rows of the file ``args.table`` to the counts of a model, refit its contributions, and write it."""
    screen, weight = Screen(), args.weight
    model = files.read_model(args.model, screen)
    target = files.target_of(model, args.target)
    frame = files.read_table(args.table, screen, model)
    files.require_columns(args.table, frame, target=target, weight=weight)
    with files.locating(args.table, target), compiling.announced(screen), screen.working("Updating ..."):
        updated = model.update(frame.drop(model.id_columns_, strict=False), target, weight)
    _save(updated, args.output, screen)


def _save(model: Any, output: Path, screen: Screen) -> None:
    """Write a model, and print its number of rows and its file."""
    model.save(output)
    screen.line(f"model of {plural(model.n_rows_, 'row')} in {output}")


def _identified(explanation: Any, block: pl.DataFrame, ids: list[str]) -> pl.DataFrame:
    """Return the explanation of a block of rows as a dataframe (`Explanation.to_frame`), with the columns ``ids`` of
    ``block`` after the row numbers.
    """
    import polars as pl

    frame: pl.DataFrame = explanation.to_frame()
    at = np.repeat(np.arange(block.height), frame.height // max(1, block.height))
    id_columns = [block[name].gather(at).alias(f"id({name})" if name in frame.columns else name) for name in ids]
    return pl.DataFrame([frame["row"], *id_columns, *frame.drop("row")])


def _write_all(model: Any, source: Scan, output: Path, ids: list[str], against: Any) -> None:
    """Write the explanations of all rows to ``output``, block by block, with the identifier columns ``ids``. If
    ``against`` is a class, they explain the log odds against it.
    """
    from bayesieve.classifier.scoring import explain_rows, training_columns
    from bayesieve.engine.progress import RowProgress
    from bayesieve.table.columns import rows_from

    progress, at = RowProgress("Explaining", source.n_rows, source.n_bytes, verbose=1), 0
    with interruptible("no explanations were written"), files.written(output) as write, progress:
        for block in source.blocks(block_rows=_BLOCK_ROWS):
            with rows_from(at):
                explanation = explain_rows(model, training_columns(model, block), "score")
            explanation = explanation if against is None else explanation.against(against)
            write(_identified(replace(explanation, rows=np.arange(at, at + block.height)), block, ids))
            at += block.height
            progress(block.height)


def _end(n_rows: int, output: Path, screen: Screen) -> None:
    """Print how many rows were explained, and the file."""
    if not files.to_stdout(output):
        screen.line(f"{plural(n_rows, 'row')} explained in {output}")


def _rows_of(source: Scan, chosen: list[int]) -> pl.DataFrame:
    """Return the rows of a source at the positions ``chosen``, in that order. Reading stops after the last of them."""
    import polars as pl

    ordered, begin, pieces = sorted(chosen), 0, []
    for block in source.blocks():
        end = begin + block.height
        pieces.append(block[[row - begin for row in ordered if begin <= row < end]])
        begin = end
        if begin > ordered[-1]:
            break
    position = {row: i for i, row in enumerate(ordered)}
    return pl.concat(pieces)[[position[row] for row in chosen]]


def chosen_rows(text: str, n_rows: int) -> list[int]:
    """Parse the option --rows into row numbers from 0, in the given order and without duplicates."""
    rows: list[int] = []
    for item in text.split(","):
        match = _PART.fullmatch(item)
        if match is None:
            raise CommandError(f"--rows contains {quoted(item)}; write row numbers from 0, such as 0,5,10-12")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise CommandError(f"--rows contains the range {quoted(item)}; write the smaller number first")
        if last >= n_rows:
            size = f"{plural(n_rows, 'row')}, counted from 0"
            raise CommandError(f"--rows contains row {format_count(last)}, but the table has {size}")
        rows.extend(range(first, last + 1))
    return list(dict.fromkeys(rows))


def _show_row(screen: Screen, explanation: Any, shown: Any, against: Any, at: int, identifier: str) -> None:
    """Print the prediction of a row and its contributions, the strongest first.

    Parameters
    ----------
    screen : where to print.
    explanation : `Explanation` of several rows.
    shown : `Explanation` whose contributions are printed: ``explanation`` or, if ``against`` is set, the explanation of
        the log odds against this class.
    against : class label, or None.
    at : position of the row among the explained rows.
    identifier : text after the row number in the heading; empty if rows have no identifier.
    """
    probability, labels = explanation.all_probabilities()[at], [visible(label) for label in explanation.classes]
    order = sorted(range(len(probability)), key=lambda j: (-probability[j], j))
    if at:
        screen.line()
    screen.line(f"row {explanation.rows[at]}{identifier}: predicted {labels[order[0]]}", "bold")
    screen.line(first_of([f"P({labels[j]}) = {probability[j]:.4f}" for j in order]))
    titles = [visible(label) for label in shown.classes]
    is_single, what = len(titles) == 1, "log probability of each class"
    if against is not None:
        what = f"log odds of {titles[0] if is_single else 'each class'} against {visible(against)}"
    screen.line(f"contributions to the {what}, in nats:")
    screen.line()
    likeliest = np.argsort(-shown.all_probabilities()[at], kind="stable")[:_MOST_CLASSES]
    columns = sorted(likeliest.tolist())

    def numbers_of(nats: Any) -> list[Any]:
        """Return the contributions of a feature to the shown classes as texts, and for one class also as the number
        that a bar shows. ``nats`` (n_classes,) are all its contributions.
        """
        return [*(f"{nats[j]:+.4f}" for j in columns), *([float(nats[0])] if is_single else [])]

    contributions = shown.contributions[at]
    size = np.abs(contributions).max(axis=1, initial=0.0)
    rows = [["prior", "", "", *numbers_of(shown.prior)]]
    for k in sorted(range(len(size)), key=lambda k: (-size[k], k)):
        value = shorten(visible(_value(shown.values[at, k])), _MOST_VALUE)
        cell = shorten(visible(shown.cells[at, k]), _MOST_LEVEL)
        rows.append([(shown.names or shown.features)[k], value, cell, *numbers_of(contributions[k])])
    rows.append(["total", "", "", *numbers_of(shown.joint_log_proba()[at])])
    heads = ["contribution"] if is_single else [shorten(titles[j], _MOST_TITLE) for j in columns]
    bar = [Heading("", bar=True)] * is_single
    screen.table([*map(Heading, ("feature", "value", "cell")), *numbers(*heads), *bar], rows, strong=(len(rows) - 1,))


def _value(value: str | None) -> str:
    """Return a value of the table as text for the terminal, numbers with six digits."""
    if value is None:
        return "missing"
    try:
        return f"{float(value):.6g}" if "." in value else value
    except ValueError:
        return value


def info(args: OptionValues) -> None:
    """Show the target, classes and features of a model, and how it was fitted."""
    from bayesieve.classifier.summary import smoothing_in_words, weights_in_words

    screen = Screen()
    model, version = files.read_model(args.model, screen), files.written_by(args.model)
    target = quoted(model.target_name_) if model.target_name_ else "without a name"
    screen.pairs(
        [
            ("model", str(args.model)),
            *([("written by", f"bayesieve {version}")] if version else []),
            ("target", f"{target}, {_class_shares(model)}"),
            *([("identified by", named(model.id_columns_))] if model.id_columns_ else []),
            ("trained on", f"{plural(model.n_rows_, 'row')}, {plural(len(model.feature_weights_), 'feature')}"),
            *((how, f"{plural(note.rows, 'row')} on {note.when[:10]}") for how, note in _parts(model)),
            ("kept", _search_line(model)),
            ("smoothing", smoothing_in_words(model)),
            ("calibration", weights_in_words(model)),
        ]
    )
    screen.line()
    _show_features(screen, model, model.summary()["feature"].to_list() if args.all else model.selected_features_)
    if model.edits_:
        screen.line()
        texts = ((e.what, e.feature or "", e.before, e.after, e.who, e.when[:10], e.why) for e in model.edits_)
        lines = [[shorten(visible(text), _MOST_LEVEL) if text else "" for text in line] for line in texts]
        titles = ("edited by hand", "feature", "before", "after", "who", "when", "why")
        screen.table([*map(Heading, titles)], lines)
    if model.cautions_:
        screen.line()
        for caution in model.cautions_:
            screen.line(f"caution: {visible(caution.sentence)}")


def _parts(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield a pair for each merge and update in the history of a model: "merged" or "updated", and the `Note` about the
    rows.
    """
    for how in ("merged", "updated"):
        yield from ((how, note) for note in model.scorecard_.provenance.get(how, ()))


def show_summary(screen: Screen, model: Any, performance: Any, written: Sequence[tuple[str, Path]]) -> None:
    """Print the selected features, the performance and the names of the written files."""
    screen.pairs(
        [
            ("table", f"{plural(model.n_rows_, 'row')}, {plural(model.n_features_in_, 'feature')}"),
            ("target", f"{quoted(model.target_name_)}, {_class_shares(model)}"),
            ("kept", _search_line(model)),
        ]
    )
    screen.line()
    _show_features(screen, model, model.selected_features_[:10])
    if performance is not None:
        screen.line()
        screen.line(performance.protocol, "dim")
        figures, later = _figures(performance), performance.later
        if later is not None:
            screen.line(f"Later rows: {later.protocol}", "dim")
            others = [value.partition(" (1:")[0] for _, value in _figures(later)]
            figures = [(name, f"{value}; later rows: {o}") for (name, value), o in zip(figures, others, strict=True)]
        screen.pairs(figures)
    screen.line()
    screen.pairs([(name, str(path)) for name, path in written])


def _class_shares(model: Any) -> str:
    """Return a line such as `2 classes: good 70.0 %, bad 30.0 %`, the most frequent class first."""
    counts = model.scorecard_.class_counts
    order = sorted(range(len(counts)), key=lambda j: (-counts[j], j))
    shares = [f"{visible(model.classes_[j])} {100 * counts[j] / counts.sum():.1f} %" for j in order]
    return f"{len(order)} classes: {first_of(shares)}"


def first_of(texts: Sequence[str]) -> str:
    """Return the first few of ``texts``, one per class, separated by commas, and the number of remaining ones."""
    more = f", {len(texts) - _MOST_CLASSES} more" if len(texts) > _MOST_CLASSES else ""
    return ", ".join(texts[:_MOST_CLASSES]) + more


def _search_line(model: Any) -> str:
    """Return the line of a summary about the search: selected features, selector, evaluations and seconds."""
    from bayesieve.report.search import Measure

    n_features, trace = plural(len(model.feature_weights_), "feature"), model.trace_
    early = "" if trace.complete else ", stopped early"
    measure = Measure(trace.criterion_name)
    if measure.evaluated == "round":
        done = f"{plural(trace.moves.cost.size, 'round')} made"
    elif measure.is_of_features:  # features are ranked without a model
        done = f"{n_features} ranked"
    else:
        done = f"{plural(trace.n_models, measure.evaluated)} evaluated"
    seconds = f"{trace.seconds:.1f} s" if trace.seconds >= 0.1 else "less than 0.1 s"
    share = f"{format_count(model.n_features_selected_)} of {n_features}"
    return f"{share} (selector {model.selector!r}, {done} in {seconds}{early})"


def _figures(performance: Any) -> list[tuple[str, str]]:
    """Return the printed measures of a performance as (name, value) texts."""
    return [
        ("AUC", f"{performance.auc:.4f}"),
        ("accuracy", f"{performance.accuracy:.4f} (most frequent class: {performance.majority_accuracy:.4f})"),
        ("log loss", f"{performance.log_loss:.4f} nats per row (class shares alone: {performance.class_entropy:.4f})"),
        ("compression rate", f"{performance.compression_rate:.4f} (1: always sure and right, 0: class shares alone)"),
    ]


def _show_features(screen: Screen, model: Any, names: Sequence[str]) -> None:
    """Print a table of the features in ``names``, in the order of their importance.

    If the fit tested each feature, the table shows in how many tables a feature does as well by chance. If
    contributions follow from counts, it shows level scores and weights. Fitted contributions without tests, as in a
    merged model, have neither column, because even important features may have weight 0.
    """
    from bayesieve.report.feature_data import by_chance

    if not model.selected_features_:
        screen.line("No feature is reliably informative about the target: predictions are the class shares.")
        return
    chosen, lines = set(names), []
    log_bayes = {feature.name: feature.log_bayes for feature in model.scorecard_.features if feature.name in chosen}
    tested = not all(map(math.isnan, log_bayes.values()))
    counted = model.scorecard_.provenance["evidence"] == "counted"
    for row in model.summary().iter_rows(named=True):
        if row["feature"] not in chosen:
            continue
        figures = [f"{100 * row['importance']:.1f} %"]
        if tested:
            figures.append(by_chance(log_bayes[row["feature"]]))
        elif counted:
            figures += [f"{row['level_score']:.4f}", f"{row['weight']:.4f}"]
        lines.append([row["feature"], row["kind"], row["n_levels"], *figures, row["importance"]])
    titles = ("by chance, 1 in",) if tested else ("level score", "weight") if counted else ()
    columns = [*map(Heading, ("feature", "kind")), *numbers("levels", "importance", *titles), Heading("", bar=True)]
    screen.table(columns, lines)
    more = model.n_features_selected_ - len(lines)
    if more > 0:
        screen.line(f"and {plural(more, 'more feature')}", "dim")


def decision_columns(
    rule: BenefitRule, model: Any, path: Path, block: pl.DataFrame, probability: Any, first: int
) -> list[pl.Series]:
    """Return the columns that a benefit rule adds to the predictions of a block of rows: the decision for each row, and
    the expected benefit of each decision.

    ``probability`` (n_rows, n_classes) are the predicted probabilities, and ``block`` holds the column of amounts, if
    the rule needs one. ``first`` is the number of the block's first row in the table ``path``, for messages.
    """
    import polars as pl

    classifier = rule.around(model, model.scorecard_.class_shares)
    benefits = classifier.benefits_of(None, amounts_of(rule, block, path, first), len(probability))
    expected = benefits.expected(classifier.corrected(probability))
    names = pl.Series("decision", list(rule.decisions))
    columns = [pl.Series(name, expected[:, i]) for i, name in enumerate(decision_names(rule)[1:])]
    return [names.gather(expected.argmax(axis=1)), *columns]


def decision_names(rule: BenefitRule) -> list[str]:
    """Return the names of the columns that `decision_columns` returns for a benefit rule."""
    return ["decision", *(f"benefit({name})" for name in rule.decisions)]


def _check_threshold(threshold: float, model: Any) -> None:
    """Raise CommandError unless the option --threshold is a probability and the model has two classes."""
    if not 0 <= threshold <= 1:
        raise CommandError(f"--threshold must be a probability from 0 to 1, got {threshold:g}")
    if len(model.classes_) != 2:
        raise CommandError(f"--threshold needs a model of two classes; this one has {len(model.classes_)}")


def decided_columns(
    model: Any, threshold: float, before: Any, block: pl.DataFrame, probability: Any, first: int
) -> list[Any]:
    """Return a column of classes predicted by a threshold on the probability of the positive class, then further
    columns.

    Parameters
    ----------
    model : fitted model of two classes.
    threshold : probability from which the positive class is predicted.
    before : function of ``block``, ``probability`` and ``first`` that returns the further columns, or None.
    block : rows of the table.
    probability : (n_rows, n_classes) predicted probabilities of the rows.
    first : number of the first row of the block in the table.
    """
    import polars as pl

    place, labels = model.scorecard_.positive, model.classes_.tolist()
    above = (probability[:, place] >= threshold).tolist()
    decided = [labels[place if is_above else 1 - place] for is_above in above]
    predicted = pl.Series("prediction", decided, dtype=pl.Series(labels).dtype)
    return [predicted, *(before(block, probability, first) if before else ())]


@dataclass(frozen=True)
class ReasonColumns:
    """Columns of predictions with the strongest reasons of each row: ``n`` columns of texts, then ``n`` of reason codes
    if there are any codes.

    ``values`` is whether texts contain the row's values. ``codes`` are reason codes by column of the table; None for
    those of the model's labels. Reasons are documented in `SelectiveNB.reasons`.
    """

    model: Any
    n: int
    values: bool
    codes: Mapping[str, str] | None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        from bayesieve.scorecard.wording import Wording

        has_codes = self.codes or Wording.of(self.model.scorecard_).codes
        return [f"{kind}_{i}" for kind in ["reason", *["reason_code"] * bool(has_codes)] for i in range(1, self.n + 1)]

    def beside(self, before: Any, block: pl.DataFrame, probability: Any, first: int) -> list[Any]:
        """Return the columns of reasons for a block of rows, the strongest reason first, after the columns of another
        function.

        ``before`` is that function, or None: it gets ``block``, ``probability`` (n_rows, n_classes) and ``first``, the
        number of the block's first row in the table, and returns a list of columns.
        """
        import polars as pl

        from bayesieve.classifier.scoring import training_columns

        names = self.names
        texts: list[list[str | None]] = [[None] * block.height for _ in names]
        if block.height:
            kinds = ["text", *["code"] * (len(names) > self.n)]
            rows = training_columns(self.model, block)
            reasons = self.model.reasons(rows, self.n, values=self.values, codes=self.codes)
            for row, rank, *of_kinds in reasons.select("row", "rank", *kinds).iter_rows():
                for k, text in enumerate(of_kinds):
                    texts[k * self.n + rank - 1][row] = text
        columns = [pl.Series(name, column, dtype=pl.String) for name, column in zip(names, texts, strict=True)]
        return [*(before(block, probability, first) if before else ()), *columns]
