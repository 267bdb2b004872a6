"""A placement as a text, and as a page of its own for notebooks: shares, partitions, and each node with the reasons why
earlier delegates do not have it."""

from __future__ import annotations

from html import escape

from .reports import NodeReport, PlacementReport

# In the order of the delegates; readable on light and dark pages.
_COLORS = ("#2f6fdb", "#c2571a", "#2a8c4a", "#8a4fc7", "#b3365b", "#0f8b8d", "#8c6d1f")
_CPU = "#6b7280"
_MOST_ROWS = 400


def _colors(report: PlacementReport) -> dict[str, str]:
    colors = {one.name: _COLORS[i % len(_COLORS)] for i, one in enumerate(report.delegates)}
    if report.delegates:
        colors[report.delegates[-1].name] = _CPU
    return colors


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def text_of(report: PlacementReport) -> str:
    """The summary and a line for each delegate."""
    lines = [report.summary]
    width = max((len(one.name) for one in report.delegates), default=0)
    for one in report.delegates:
        share = _share(one.multiply_adds, report.multiply_adds)
        lines.append(f"  {one.name:<{width}}  {one.nodes} nodes in {one.partitions} partitions, {share} of the "
                     "multiply-adds")  # fmt: skip
    return "\n".join(lines)


def _strip(report: PlacementReport, colors: dict[str, str]) -> str:
    """The nodes in their order, as a strip of colored bars."""
    count = len(report.nodes)
    if count == 0:
        return ""
    bars, begin = [], 0
    for i in range(1, count + 1):
        if i == count or report.nodes[i].delegate != report.nodes[begin].delegate:
            owner = report.nodes[begin].delegate
            bars.append(f'<rect x="{1000 * begin / count:.2f}" width="{1000 * (i - begin) / count:.2f}" height="18" '
                        f'fill="{colors.get(owner, _CPU)}"><title>{escape(owner)}: {i - begin} nodes</title></rect>'
                        )  # fmt: skip
            begin = i
    return ('<svg viewBox="0 0 1000 18" preserveAspectRatio="none" style="width:100%;height:18px" role="img" '
            f'aria-label="the nodes in their order, by delegates">{"".join(bars)}</svg>')  # fmt: skip


def _reasons(node: NodeReport) -> str:
    reasons = []
    for one in node.refusals:
        text = f"{one.reason}: {one.detail}" if one.detail else one.reason
        reasons.append(f"<div><b>{escape(one.delegate)}</b> {escape(text)}</div>")
    return "".join(reasons)


def _delegates(report: PlacementReport, colors: dict[str, str]) -> str:
    rows = []
    for one in report.delegates:
        mark = f'<span style="color:{colors[one.name]}">&#9632;</span>'
        rows.append(f"<tr><td>{mark} {escape(one.name)}</td><td>{one.nodes}</td><td>{one.partitions}</td>"
                    f"<td>{_share(one.multiply_adds, report.multiply_adds)}</td></tr>")  # fmt: skip
    head = "<tr><th>delegate</th><th>nodes</th><th>partitions</th><th>multiply-adds</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _nodes(report: PlacementReport, colors: dict[str, str]) -> str:
    rows = []
    for node in report.nodes[:_MOST_ROWS]:
        color = colors.get(node.delegate, _CPU)
        rows.append(f'<tr><td>{escape(node.name)}</td><td>{escape(node.op_type)}</td><td style="color:{color}">'
                    f"{escape(node.partition or node.delegate)}</td><td>{_reasons(node)}</td></tr>")  # fmt: skip
    left = len(report.nodes) - _MOST_ROWS
    if left > 0:
        rows.append(f'<tr><td colspan="4">and {left} more</td></tr>')
    head = "<tr><th>node</th><th>operator</th><th>runs on</th><th>why not on the others</th></tr>"
    summary = f"<summary>{len(report.nodes)} nodes, with reasons</summary>"
    return f"<details>{summary}<table>{head}{''.join(rows)}</table></details>"


def html_of(report: PlacementReport) -> str:
    """Without scripts and other files."""
    colors = _colors(report)
    return (f'<div class="deputy-placement"><p>{escape(report.summary)}</p>{_strip(report, colors)}'
            f"{_delegates(report, colors)}{_nodes(report, colors)}</div>")  # fmt: skip
