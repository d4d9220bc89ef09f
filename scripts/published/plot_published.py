#!/usr/bin/env python3
"""Draws what is predicted for published runs on A100s against what was measured.

    scripts/published/plot_published.py [--out FOLDER] [--only NAME]

A point per row of a100_runs.csv, as score_a100.py predicts it, coloured by source, on
logarithmic axes: docs/images/published_latency.svg and published_memory.svg. Rows in
which the GPU is predicted to wait for the host are hollow. published_energy.svg has the
runs of score_energy.py on several GPUs, those hollow that it calls not clean. Between
the thin lines a prediction is at most a factor of two off. `--only` draws one of them.
"""

import argparse
import collections
import math
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import energy_runs
import foretell
import host_factor
import published
import score_a100
import score_energy

COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#a463f2", "#97bbf5",
           "#9c6b4e", "#333333")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 620, 460, 62, 160, 40, 46
FACTOR = 2
# Names that the legend has no room for.
SHORT = {"imagenet-energy-2022": "imagenet",
         "lightening-transformer": "lightening"}


class LogAxes:
    """A square of two equal logarithmic axes, and the SVG drawn on it."""

    def __init__(self, title, unit, values):
        self.low = math.floor(math.log10(min(values)))
        self.high = math.ceil(math.log10(max(values)))
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
        self.text(LEFT, 22, title, font_size=14, font_weight="bold")
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, f"measured, {unit}",
                  text_anchor="middle")
        self.text(14, (TOP + HEIGHT - BOTTOM) / 2, f"predicted, {unit}",
                  text_anchor="middle",
                  transform=f"rotate(-90 14 {(TOP + HEIGHT - BOTTOM) / 2:.0f})")

    def share(self, value):
        return (math.log10(value) - self.low) / (self.high - self.low)

    def x(self, value):
        return LEFT + self.share(value) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - self.share(value) * (HEIGHT - TOP - BOTTOM)

    def text(self, x, y, words, **style):
        style = "".join(f' {name.replace("_", "-")}="{value}"'
                        for name, value in style.items())
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{style}>{words}</text>')

    def line(self, start, end, colour):
        (x0, y0), (x1, y1) = start, end
        self.parts.append(
            f'<line x1="{self.x(x0):.1f}" y1="{self.y(y0):.1f}" '
            f'x2="{self.x(x1):.1f}" y2="{self.y(y1):.1f}" stroke="{colour}"/>')

    def grid(self):
        first, last = 10.0 ** self.low, 10.0 ** self.high
        for exponent in range(self.low, self.high + 1):
            value = 10.0 ** exponent
            self.line((value, first), (value, last), "#e0e0e0")
            self.line((first, value), (last, value), "#e0e0e0")
            self.text(self.x(value), HEIGHT - BOTTOM + 16, f"{value:,g}",
                      text_anchor="middle")
            self.text(LEFT - 6, self.y(value) + 4, f"{value:,g}",
                      text_anchor="end")
        self.line((first, first), (last, last), "#555555")
        self.line((first * FACTOR, first), (last, last / FACTOR), "#bbbbbb")
        self.line((first, first * FACTOR), (last / FACTOR, last), "#bbbbbb")

    def point(self, measured, predicted, colour, hollow):
        fill = "none" if hollow else colour
        self.parts.append(
            f'<circle cx="{self.x(measured):.1f}" cy="{self.y(predicted):.1f}" '
            f'r="2.5" fill="{fill}" stroke="{colour}" fill-opacity="0.7"/>')

    def legend(self, names):
        for i, (name, colour) in enumerate(names):
            x, y = WIDTH - RIGHT + 16, TOP + 10 + 18 * i
            self.parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" '
                              f'fill="{colour}"/>')
            self.text(x + 12, y, name)

    def done(self):
        return "\n".join([*self.parts, "</svg>", ""])


def draw(title, unit, points):
    """`points`: source, measured, predicted, and whether the host decides."""
    numbers = collections.Counter(source for source, *_ in points)
    colours = {source: colour for (source, _), colour in
               zip(numbers.most_common(), COLOURS, strict=False)}
    axes = LogAxes(title, unit, [value for point in points
                                 for value in point[1:3]])
    axes.grid()
    for source, measured, predicted, hollow in points:
        axes.point(measured, predicted, colours[source], hollow)
    axes.legend([(f"{source}, {numbers[source]}", colour)
                 for source, colour in colours.items()])
    return axes.done()


def latency_points(runs):
    """With the typical host."""
    return [(run.row["source"], run.truth, run.latencies[1.0],
             host_factor.is_host_bound(run.latencies)) for run in runs]


def memory_points(errors):
    for row, error, _ in errors:
        measured = float(row["memory_mib"])
        yield row["source"], measured, measured * (1 + error), False


def energy_points():
    runs = [run for source in energy_runs.SOURCES for run in source()
            if run.energy_j]
    for run, figures in score_energy.predictions_of(runs):
        source = run.group.split(",")[0]
        yield (SHORT.get(source, source), run.energy_j, figures["energy_j"],
               bool(run.unclean))


def draw_energy():
    return {"energy": draw("Energy of a step, eight GPUs", "J",
                           list(energy_points()))}


def draw_a100():
    """Latency and memory, of one set of predictions."""
    published.need(score_a100.RUNS, score_a100.TRACES)
    rows = [row for row in published.rows(score_a100.RUNS)
            if row["latency_ms"] or row["memory_mib"]]
    with (published.unpacked(score_a100.TRACES, "*.pt") as traces,
          tempfile.TemporaryDirectory() as folder):
        hosts = host_factor.write_hosts(pathlib.Path(folder))
        predictions = score_a100.Predictions(traces, hosts, rows)
        latency = latency_points(score_a100.latency_runs(rows, predictions))
        memory = list(memory_points(score_a100.memory_errors(rows, predictions)))
    return {"latency": draw("Latency on A100s and their slices", "ms", latency),
            "memory": draw("Memory on A100s and their slices", "MiB", memory)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path,
                        default=foretell.ROOT / "docs" / "images")
    parser.add_argument("--only", choices=("a100", "energy"), help="draw these alone")
    options = parser.parse_args()
    published.need(published.TABLES)
    pictures = {}
    if options.only != "energy":
        pictures |= draw_a100()
    if options.only != "a100":
        pictures |= draw_energy()
    for name, picture in pictures.items():
        (options.out / f"published_{name}.svg").write_text(picture)


if __name__ == "__main__":
    foretell.main(main)
