#!/usr/bin/env python3
"""Draws docs/images/training_step.svg, the picture of the README.

    scripts/generate/draw_training_step.py [--check]

What lives on the GPU during one training step of ViT-B/16 at batch 128, as
`foretell inspect` lists it, above the CUDA context; beside it the total that
`foretell predict` gives and the one that GPUMemNet's table has for an A100 40 GB
(scripts/published/compare_training_memory.py prints both). `--check` writes nothing
and fails where the picture is out of date.
"""

import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import palette  # noqa: E402

PICTURE = foretell.ROOT / "docs" / "images" / "training_step.svg"
RUN = ("zoo:vit_base_patch16_224", "--mode", "training", "--optimizer",
       "momentum", "--batch", "128", "--environment", "cuda11.6-eager")
MEASURED_MIB = 17601
MIB = 2**20
# What is stacked, from below: part of the memory, roles of storages.
BANDS = (
    ("parameters", ("parameter", "buffer")),
    ("optimizer states", ("optimizer_state",)),
    ("gradients", ("gradient",)),
    ("activations", ("input", "activation", "saved")),
    ("temporaries", ("backward_temporary", "optimizer_temporary")),
)
CONTEXT = "CUDA context"
COLOURS = palette.part_colours()
COLUMNS = 240
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 400, 70, 175, 50, 40


def live_bytes(graph):
    """Per node the bytes alive by band, at the node's own highest moment."""
    band_of = {role: i for i, (_, roles) in enumerate(BANDS) for role in roles}
    live, nodes = [0] * len(BANDS), [None] * len(graph["nodes"])
    for event in graph["events"]:
        storage, node = graph["storages"][event["storage"]], event["node"]
        change = storage["bytes"] * (1 if event["event"] == "allocate" else -1)
        live[band_of[storage["role"]]] += change
        if node is not None and (nodes[node] is None
                                 or sum(live) > sum(nodes[node])):
            nodes[node] = list(live)
    for i, found in enumerate(nodes):
        nodes[i] = found or (nodes[i - 1] if i else live)
    return nodes


def columns(nodes):
    """At most COLUMNS rows, each the highest of the nodes it stands for."""
    bounds = [i * len(nodes) // COLUMNS for i in range(COLUMNS + 1)]
    return [max(nodes[first:last], key=sum)
            for first, last in zip(bounds, bounds[1:]) if first < last]


class Picture:
    """Text of an SVG whose y axis is in MiB."""

    def __init__(self, top_mib):
        self.top_mib = top_mib
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']

    def x(self, share):
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, mib):
        return HEIGHT - BOTTOM - mib / self.top_mib * (HEIGHT - TOP - BOTTOM)

    def text(self, x, y, words, **style):
        style = "".join(f' {name.replace("_", "-")}="{value}"'
                        for name, value in style.items())
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{style}>{words}</text>')

    def line(self, share0, mib0, share1, mib1, **style):
        style = "".join(f' {name.replace("_", "-")}="{value}"'
                        for name, value in style.items())
        self.parts.append(
            f'<line x1="{self.x(share0):.0f}" y1="{self.y(mib0):.1f}" '
            f'x2="{self.x(share1):.0f}" y2="{self.y(mib1):.1f}"{style}/>')

    def area(self, lower, upper, colour):
        """Fills the space between two curves of MiB over equal steps."""
        last = len(lower) - 1
        points = [(i / last, mib) for i, mib in enumerate(upper)]
        points += [(i / last, lower[i]) for i in range(last, -1, -1)]
        text = " ".join(f"{self.x(share):.1f},{self.y(mib):.1f}"
                        for share, mib in points)
        self.parts.append(f'<polygon points="{text}" fill="{colour}"/>')

    def done(self):
        return "\n".join([*self.parts, "</svg>", ""])


def draw_axes(picture, graph):
    for mib in range(0, int(picture.top_mib), 4000):
        picture.line(0, mib, 1, mib, stroke="#e0e0e0")
        picture.text(LEFT - 6, picture.y(mib) + 4, f"{mib:,}", text_anchor="end")
    picture.text(LEFT - 6, TOP - 6, "MiB", text_anchor="end")
    phases = [node["phase"] for node in graph["nodes"]]
    for phase in ("forward", "backward", "optimizer"):
        first, number = phases.index(phase), phases.count(phase)
        middle = (first + number / 2) / len(phases)
        if first:
            picture.line(first / len(phases), 0, first / len(phases),
                         picture.top_mib, stroke="#888888",
                         stroke_dasharray="2 3")
        picture.text(picture.x(middle), HEIGHT - BOTTOM + 16, phase,
                     text_anchor="middle")
    picture.text(picture.x(0.5), HEIGHT - 8,
                 f"{len(phases):,} operators, in the order in which they run",
                 text_anchor="middle", fill="#555555")


def draw_bands(picture, rows, context_mib):
    """Draws what is alive, and the legend next to it, from the top down."""
    lower = [0.0] * len(rows)
    upper = [context_mib] * len(rows)
    legend = [CONTEXT]
    picture.area(lower, upper, COLOURS[CONTEXT])
    for i, (title, _) in enumerate(BANDS):
        lower = upper
        upper = [base + row[i] / MIB for base, row in zip(lower, rows)]
        picture.area(lower, upper, COLOURS[title])
        legend.append(title)
    for i, title in enumerate(reversed(legend)):
        y = picture.y(0) - 17 * (len(legend) - i) + 12
        picture.parts.append(f'<rect x="{WIDTH - RIGHT + 14}" y="{y - 10:.0f}" '
                             f'width="11" height="11" fill="{COLOURS[title]}"/>')
        picture.text(WIDTH - RIGHT + 31, y, title)


def draw_totals(picture, result):
    """The totals of prediction and measurement, and the slice that holds them."""
    profile = next(row for row in result["mig"]["profiles"]
                   if row["profile"] == result["mig"]["profile"])
    lines = (
        (profile["usable_mib"], f"MIG {profile['profile']}, "
         f"{profile['usable_mib']:,} MiB", "#777777", "1 0", 4),
        (MEASURED_MIB, f"measured {MEASURED_MIB:,} MiB", "#000000", "6 3", -1),
        (result["memory"]["total_mib"],
         f"predicted {result['memory']['total_mib']:,.0f} MiB", "#d6204e", "1 0",
         12))
    for mib, words, colour, dashes, shift in lines:
        picture.line(0, mib, 1, mib, stroke=colour, stroke_width=1.5,
                     stroke_dasharray=dashes)
        picture.text(WIDTH - RIGHT + 8, picture.y(mib) + shift, words,
                     fill=colour)


def draw():
    graph = foretell.run_json("inspect", *RUN, "--format", "json")
    (result,) = foretell.run_json("predict", *RUN, "--json")["results"]
    picture = Picture(21000)
    draw_axes(picture, graph)
    draw_bands(picture, columns(live_bytes(graph)),
               result["memory"]["context_mib"])
    draw_totals(picture, result)
    picture.text(LEFT, 22, "One training step of ViT-B/16, batch 128, FP32, SGD "
                 "with momentum, on an A100 40 GB", font_size=14,
                 font_weight="bold")
    return picture.done()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = draw()
    if not check:
        PICTURE.write_text(text)
    elif not PICTURE.exists() or PICTURE.read_text() != text:
        print(f"{PICTURE.name} is out of date; run {pathlib.Path(__file__).name}")
        return 1
    return 0


if __name__ == "__main__":
    foretell.main(main)
