"""Drawing of the plain data: one HTML document, or a fragment for notebooks."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from bayesieve import words
from bayesieve.report import sections
from bayesieve.report.data import ReportData
from bayesieve.report.drawing import bar_width, diverging_bar, polyline, stacked_segments, strength
from bayesieve.report.search import search_section

if TYPE_CHECKING:
    import jinja2

N_CARD_FEATURES = 8


def render_report(data: ReportData) -> str:
    """Draw a report as one HTML document.

    The document needs nothing but itself: styles, charts and its few lines of script are inside, and a content
    security policy forbids any request. It reads without scripts, on paper, and in light and dark.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str
        The document, to be written as UTF-8.

    Examples
    --------
    >>> from bayesieve.report import ReportData
    >>> data = ReportData(
    ...     title="Iris", target="species", n_rows=150, n_columns=4, classes=("a", "b"), class_counts=(50, 100),
    ...     headline="Nothing was searched.", features=(), search=None, performance=None, explained=(), warnings=(),
    ...     settings=(), version="0.1.0", created="2025-11-20",
    ... )
    >>> render_report(data).startswith("<!doctype html>")
    True
    """
    script = _template_text("report.js")
    return fill(
        "report.html",
        data=data,
        tiles=sections.key_figures(data),
        balance=sections.class_balance(data),
        n_selected=sections.n_selected(data),
        features=sections.feature_section(data),
        search=search_section(data.search),
        performance=sections.performance_section(data),
        decisions=sections.decision_section(data),
        explained=sections.explained_sections(data),
        unit_ticks=sections.UNIT_TICKS,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def render_card(data: ReportData) -> str:
    """Draw the short HTML repr of a model: title, key figures and most important features.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str
        A fragment without scripts. Colours are taken from the page around it, so that it fits light and dark themes;
        all styles are inline, so that it leaves the page as it was.
    """
    selected = [feature for feature in data.features if feature.selected]
    first = selected[:N_CARD_FEATURES]
    return fill(
        "card.html", data=data, tiles=sections.key_figures(data), first=first, n_more=len(selected) - len(first)
    )


def fill(name: str, **context: Any) -> str:
    return words.printable(_environment().get_template(name).render(**context))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        number=words.format_number,
        count=words.format_count,
        percent=words.format_percent,
        signed=words.format_signed,
        seconds=words.format_seconds,
        plural=words.plural,
        shorten=words.shorten,
        visible=words.not_blank,
        money=words.format_money,
        few_digits=words.few_digits,
        polyline=polyline,
        auc_comparison=sections.auc_comparison,
        width=bar_width,
        bar=diverging_bar,
        strength=strength,
        segments=stacked_segments,
        amounts=sections.evidence_amounts,
        of_class=sections.of_class,
        kind_label=sections.kind_label,
        fitted_label=sections.shortened_label,
    )
    return environment


@lru_cache(maxsize=32)
def _template_text(name: str) -> str:
    """The template of this package, or that of another one if ``name`` is ``package:name``."""
    package, _, file = name.rpartition(":")
    return resources.files(package or "bayesieve.report").joinpath("templates", file).read_text(encoding="utf-8")
