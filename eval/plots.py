"""Small plots as inline SVG: they need no script and no network, and follow the page's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Point = tuple[float, float]

_WIDTH, _HEIGHT = 420, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 12, 40


def lines(series: Mapping[str, Sequence[Point]], x: str, y: str, x_max: float, y_max: float = 1.0) -> str:
    """Curves over axes that begin at 0; one colour a series, a legend where there are several."""

    def place(point: Point) -> str:
        across = _LEFT + point[0] / (x_max or 1) * (_WIDTH - _LEFT - _RIGHT)
        up = _HEIGHT - _BOTTOM - point[1] / (y_max or 1) * (_HEIGHT - _TOP - _BOTTOM)
        return f"{across:.1f},{up:.1f}"

    parts = [_axes(x, y, x_max, y_max)]
    for n, (name, points) in enumerate(series.items()):
        parts.append(f'<polyline class="c{n}" points="{" ".join(map(place, points))}"/>')
        if len(points) <= 12:
            for point in points:
                cx, cy = place(point).split(",")
                title = f"<title>{escape(name)}: {point[0]:g}, {point[1]:.3f}</title>"
                parts.append(f'<circle class="f{n}" cx="{cx}" cy="{cy}" r="3">{title}</circle>')
        if len(series) > 1:
            top = _HEIGHT - _BOTTOM - 8 - 14 * (len(series) - 1 - n)
            parts.append(
                f'<text class="f{n}" x="{_WIDTH - _RIGHT - 4}" y="{top}" text-anchor="end">{escape(name)}</text>'
            )
    return _svg("".join(parts), _HEIGHT, f"{y} by {x}")


def bars(values: Mapping[str, tuple[float, float | None, float | None]], low: float = 0.0, high: float = 1.0) -> str:
    """One bar a name with the whisker of its interval; ``low`` < 0 gives bars to both sides of zero."""
    row, left = 24, 150
    height = row * len(values) + 26

    def across(v: float) -> float:
        return left + (min(max(v, low), high) - low) / (high - low) * (_WIDTH - left - 46)

    parts = []
    for tick in (low, 0.0, high) if low < 0 else (0.0, high / 2, high):
        parts.append(f'<line class="grid" x1="{across(tick):.1f}" x2="{across(tick):.1f}" y1="0" y2="{height - 20}"/>')
        parts.append(f'<text x="{across(tick):.1f}" y="{height - 6}" text-anchor="middle">{tick:g}</text>')
    for n, (name, (v, least, most)) in enumerate(values.items()):
        top = n * row + 4
        start, end = sorted((across(0.0), across(v)))
        parts.append(f'<text x="{left - 6}" y="{top + 12}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="f0" x="{start:.1f}" y="{top}" width="{max(end - start, 1):.1f}" height="16"/>')
        if least is not None and most is not None:
            middle = top + 8
            parts.append(
                f'<line class="whisker" x1="{across(least):.1f}" x2="{across(most):.1f}" y1="{middle}" y2="{middle}"/>'
            )
        parts.append(f'<text x="{_WIDTH}" y="{top + 12}" text-anchor="end">{v:.3f}</text>')
    return _svg("".join(parts), height, "bars")


def _axes(x: str, y: str, x_max: float, y_max: float) -> str:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for n in range(5):
        up = bottom - n / 4 * (bottom - _TOP)
        across = _LEFT + n / 4 * (right - _LEFT)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{up:.1f}" y2="{up:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{up + 4:.1f}" text-anchor="end">{y_max * n / 4:.3g}</text>')
        parts.append(f'<text x="{across:.1f}" y="{bottom + 16}" text-anchor="middle">{x_max * n / 4:.3g}</text>')
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x)}</text>')
    middle = (_TOP + bottom) / 2
    parts.append(
        f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">{escape(y)}</text>'
    )
    return "".join(parts)


def _svg(inside: str, height: float, label: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(label)}">{inside}</svg>'
