"""A report as text, as Markdown, and as a page of HTML that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping

from chaffinch.cli.rollouts.report import Report, Row, Section
from chaffinch.cli.tables import columns

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; }}
th, td {{ border-bottom: 1px solid #ddd; padding: .25rem .75rem .25rem 0; }}
th, td {{ text-align: left; vertical-align: top; }}
td {{ overflow-wrap: anywhere; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def as_text(report: Report) -> str:
    """Return a report for a terminal."""
    parts = [report.title]
    for section in report.sections:
        rows = [section.head, *section.rows] if section.head else list(section.rows)
        parts.append(f"{section.title}\n{_indented(columns(rows))}")
    return "\n\n".join(parts) + "\n"


def as_markdown(report: Report) -> str:
    """Return a report for a ticket or a review."""
    parts = [f"# {_inline(report.title)}"]
    for section in report.sections:
        head = section.head or ("", "")
        lines = [head, tuple("---" for _ in head), *section.rows]
        table = "\n".join("| " + " | ".join(_inline(cell) for cell in line) + " |" for line in lines)
        parts.append(f"## {section.title}\n\n{table}")
    return "\n\n".join(parts) + "\n"


def as_html(report: Report) -> str:
    """Return a report as one page, with neither scripts nor anything that is loaded from elsewhere."""
    body = "\n".join(_html_section(section) for section in report.sections)
    return _PAGE.format(title=html.escape(report.title), body=body)


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "html": as_html,
}


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def _inline(text: str) -> str:
    """Return a text that Markdown takes as it is, in one cell."""
    escaped = html.escape(text, quote=False).replace("\\", "\\\\").replace("|", "\\|")
    return " ".join(escaped.split()) if text != "---" else text


def _html_section(section: Section) -> str:
    head = _html_row(section.head, "th") if section.head else ""
    rows = "\n".join(_html_row(row, "td") for row in section.rows)
    return f"<h2>{html.escape(section.title)}</h2>\n<table>\n{head}{rows}\n</table>"


def _html_row(row: Row, cell: str) -> str:
    return "<tr>" + "".join(f"<{cell}>{html.escape(each)}</{cell}>" for each in row) + "</tr>"
