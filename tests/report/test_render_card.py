from __future__ import annotations

from dataclasses import replace

from bayesieve.report import render_card
from tests.report.markup import read
from tests.report.sample import german_credit, synthetic


def test_card_shows_the_essentials():
    card = render_card(german_credit())
    elements = read(card)
    text = " ".join(elements[0].text.split())
    for shown in (
        "German credit: who repays",
        "11 of 20",
        "0.790",
        "75.7%",
        "savings_status",
        "0.85",
        "3 further features",
        "183 rows",
    ):
        assert shown in text
    assert len(card) < 12_000


def test_card_of_a_model_that_keeps_nothing():
    data = german_credit()
    data = replace(
        data, features=tuple(f for f in data.features if f.weight == 0), performance=None, search=None, warnings=()
    )
    assert "No feature is selected" in render_card(data)
    read(render_card(data))


def test_card_of_many_classes_and_features():
    card = render_card(synthetic(n_classes=26, n_features=3000, n_levels=2))
    read(card)
    assert len(card) < 12_000
