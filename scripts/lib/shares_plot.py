"""Bars of rows by what an estimate made of them, as SVG.

`draw(panels, path)`: a panel per table, a bar per estimate, cut into the shares of rows
that it has right, too high and too low.
"""

import html
import pathlib

WIDTH, LEFT, RIGHT, STEP, BAR, HEAD = 760, 330, 60, 20, 13, 46
RIGHT_COLOUR, HIGH_COLOUR, LOW_COLOUR = "#4269d0", "#d9d9d9", "#ff725c"


def text(x, y, words, **attributes):
    extra = "".join(f' {name.replace("_", "-")}="{value}"'
                    for name, value in attributes.items())
    return f'<text x="{x:.0f}" y="{y:.0f}"{extra}>{html.escape(words)}</text>'


def block(x, y, width, colour):
    return (f'<rect x="{x:.1f}" y="{y:.0f}" width="{max(width, 0):.1f}" '
            f'height="{BAR}" fill="{colour}"/>')


def bar(y, name, right, low):
    """The shares of one estimate; accuracy stands behind them."""
    room = WIDTH - LEFT - RIGHT
    yield text(LEFT - 8, y + BAR - 2, name, text_anchor="end")
    yield block(LEFT, y, room * right, RIGHT_COLOUR)
    yield block(LEFT + room * right, y, room * (1 - right - low), HIGH_COLOUR)
    yield block(LEFT + room * (1 - low), y, room * low, LOW_COLOUR)
    yield text(WIDTH - RIGHT + 6, y + BAR - 2, f"{right:.3f}")


def legend(y):
    x = LEFT
    for words, colour in (("right", RIGHT_COLOUR), ("too high", HIGH_COLOUR),
                          ("too low", LOW_COLOUR)):
        yield block(x, y, BAR, colour)
        yield text(x + BAR + 5, y + BAR - 2, words)
        x += 90


def draw(panels, path):
    parts, y = list(legend(10)), 10
    for title, rated in panels:
        y += HEAD
        parts.append(text(10, y, title, font_size=14, font_weight="bold"))
        y += 10
        for name, right, low in rated:
            parts += bar(y, name, right, low)
            y += STEP
    height = y + 16
    pathlib.Path(path).write_text("\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *parts,
        "</svg>", ""]), encoding="utf-8")
