"""`bayesieve info`: a summary of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bayesieve.cli import files, options
from bayesieve.cli.fit_summary import class_shares, n_kept, search, show_features
from bayesieve.cli.screen import Screen
from bayesieve.cli.text import counted, quoted


def info(
    model: options.ModelFile,
    all_features: Annotated[bool, typer.Option("--all", help="List features of weight 0 as well.")] = False,
    debug: options.Debug = False,
) -> None:
    """Show the target, classes, features and weights of MODEL."""
    screen = Screen()
    fitted = files.read_model(model, screen)
    screen.pairs(_facts(fitted, model))
    screen.line()
    names = fitted.summary()["feature"].to_list() if all_features else fitted.selected_features_
    show_features(screen, fitted, names)


def _facts(model: Any, path: Path) -> list[tuple[str, str]]:
    from bayesieve.classifier.description import smoothing_in_words, weights_in_words

    version = files.written_by(path)
    return [
        ("model", str(path)),
        *([("written by", f"bayesieve {version}")] if version else []),
        ("target", f"{quoted(model.target_name_) if model.target_name_ else 'without a name'}, {class_shares(model)}"),
        ("trained on", f"{counted(model.n_rows_, 'row')}, {counted(len(model.feature_weights_), 'feature')}"),
        ("kept", f"{n_kept(model)} ({search(model)})"),
        ("smoothing", smoothing_in_words(model)),
        ("calibration", weights_in_words(model)),
    ]
