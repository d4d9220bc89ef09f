"""Groups of horizontal bars of percent on a logarithmic axis, as SVG."""

import math
import pathlib


class PercentBars:
    """`count` groups from the top; `low` is where the axis begins."""

    WIDTH, RIGHT, TOP, STEP = 640, 60, 46, 44

    def __init__(self, title, count, low=0.1, decades=4, left=110):
        self.low, self.decades, self.left = low, decades, left
        height = self.TOP + self.STEP * count + 30
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.WIDTH}" '
            f'height="{height}" viewBox="0 0 {self.WIDTH} {height}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{self.WIDTH}" height="{height}" fill="white"/>']
        self.text(10, 20, title)
        for i in range(decades + 1):
            x = self.x(low * 10 ** i)
            self.parts.append(f'<line x1="{x:.0f}" y1="{self.TOP - 10}" '
                              f'x2="{x:.0f}" y2="{height - 24}" '
                              'stroke="#e0e0e0"/>')
            self.text(x - 12, height - 8, f"{low * 10 ** i:g} %")

    def x(self, percent):
        share = math.log10(max(percent, self.low) / self.low) / self.decades
        return self.left + share * (self.WIDTH - self.left - self.RIGHT)

    def text(self, x, y, words, colour="black"):
        self.parts.append(
            f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}">{words}</text>')

    def bar(self, group, place, percent, colour, digits=1):
        """A bar with its figure behind it, the `place`th of a group."""
        y = self.TOP + group * self.STEP + place * 12
        self.parts.append(
            f'<rect x="{self.left}" y="{y}" height="10" fill="{colour}" '
            f'width="{max(self.x(percent) - self.left, 1):.0f}"/>')
        self.text(self.x(percent) + 4, y + 9, f"{percent:.{digits}f}", colour)

    def write(self, path):
        pathlib.Path(path).write_text("\n".join([*self.parts, "</svg>", ""]),
                                      encoding="utf-8")
