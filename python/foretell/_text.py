"""Predictions for people: on a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._prediction import Prediction

Rows = list[tuple[str, str]]


def number(value: float) -> str:
    """Three significant digits, and all of those before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _range(interval: list[float]) -> str:
    return " – ".join(map(number, interval))


def _settings(p: Prediction) -> str:
    step = p.mode + (f" with {p.optimizer}" if p.optimizer else "")
    grad = " in grad mode" if p.grad_mode else ""
    autocast = f" with autocast to {p.autocast}" if p.autocast else ""
    setup = "".join(f", {flag}" for flag in p.setup)
    return f"{step}{grad}, {p.precision}{autocast}, batch {p.batch}{setup}"


def _rows(p: Prediction) -> Rows:
    memory, latency, energy = p.memory, p.latency, p.energy
    parts = ", ".join(f"{name} {number(mib)}"
                      for name, mib in memory.parts().items() if mib >= 0.05)
    return [
        ("device", f"{p.device}, {p.environment}"),
        ("memory", f"{number(memory.total_mib)} MiB   "
                   f"({_range(memory.interval_mib)})"),
        ("  context", f"{number(memory.context_mib)} MiB"),
        ("  reserved", f"{number(memory.reserved_mib)} MiB, of which at the peak: "
                       + parts),
        ("latency", f"{number(latency.ms)} ms   ({_range(latency.interval_ms)})"),
        ("energy", f"{number(energy.j)} J   ({_range(energy.interval_j)})"),
        ("MIG", f"{p.mig.profile or 'none'}: {p.mig.reason}"),
        ("method", p.method),
        *(("warning", warning) for warning in p.warnings),
    ]


def prediction_text(p: Prediction) -> str:
    """A line per figure; `foretell predict` has more."""
    lines = [f"{p.model}   ({_settings(p)})"]
    lines += [f"  {label:<12}{text}" for label, text in _rows(p)]
    return "\n".join(lines)


def _table(rows: list[list[str]], head: list[str]) -> str:
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>"
                                for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table>{line(head, 'th') if head else ''}{body}</table>"


def prediction_html(p: Prediction) -> str:
    """The same as tables, with a row per MIG profile. Names stay text."""
    rows = [[label.strip(), text] for label, text in _rows(p)]
    text = (f"<p><b>{html.escape(p.model)}</b> ({html.escape(_settings(p))})</p>"
            + _table(rows, []))
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
