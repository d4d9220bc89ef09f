"""Predictions for people: on a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from ._meanings import in_python

if TYPE_CHECKING:
    from ._prediction import Prediction

Rows = list[tuple[str, str]]


def number(value: float) -> str:
    """Three significant digits, and all of those before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _rows(p: Prediction) -> Rows:
    rows = [(line["label"], in_python(line["text"])) for line in p.verdict["lines"]]
    return rows + [("warning", warning) for warning in p.warnings]


def _heads(p: Prediction) -> list[str]:
    inputs = p.verdict["inputs"]
    return [in_python(p.verdict["title"]), *([f"input {inputs}"] if inputs else []),
            f"on {p.verdict['place']}"]


def prediction_text(p: Prediction) -> str:
    """The summary that `foretell predict` prints."""
    lines = [f"  {label:<12} {text}" for label, text in _rows(p)]
    return "\n".join([*_heads(p), "", *lines])


def _table(rows: list[list[str]], head: list[str]) -> str:
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>"
                                for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table>{line(head, 'th') if head else ''}{body}</table>"


def heading_html(name: str, rest: str) -> str:
    """A model's name, and what is said of it."""
    return f"<p><b>{html.escape(name)}</b> ({html.escape(rest)})</p>"


def prediction_html(p: Prediction) -> str:
    """The same as tables, with a row per MIG profile. Names stay text."""
    head = "<br>".join(html.escape(line) for line in _heads(p))
    text = f"<p>{head}</p>" + _table([list(row) for row in _rows(p)], [])
    profiles = [[str(one.profile), one.fit, number(one.margin_mib),
                 number(one.latency_ms), number(one.energy_j)] for one in p.mig]
    if profiles:
        text += _table(profiles, ["MIG profile", "", "margin MiB", "ms", "J"])
    return text


def table_html(rows: list[dict[str, object]]) -> str:
    """Rows of equal keys as one table."""
    head = list(rows[0]) if rows else []
    return _table([[_cell(row[key]) for key in head] for row in rows], head)


def table_text(rows: list[dict[str, object]]) -> str:
    """The same for a terminal, the columns as wide as they must be."""
    if not rows:
        return "no rows"
    head = list(rows[0])
    cells = [head] + [[_cell(row[key]) for key in head] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width
                               in zip(line, widths)).rstrip() for line in cells)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else str(value)
