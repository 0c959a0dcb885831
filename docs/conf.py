"""Sphinx makes a site of the pages: `make docs`.

They are plain Markdown, which git hosts show as it is. What a site needs besides is here: its contents are the lists
of links in `docs/README.md`, and its first page is the README of the project.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "snapd"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
# the last has only the text that a page is made from
exclude_patterns = [".*", "**/build", "**/dist", "**/node_modules", "**/bundled", "benchmarks/runs", "snapd"]

# as git hosts name the sections of a page
myst_heading_anchors = 4
# "--option" is no dash
smartquotes = False
# pages that the contents do not list are reached by links
suppress_warnings = ["toc.not_included"]
highlight_language = "text"

html_theme = "furo"
html_title = "snapd"
html_static_path = html_css_files = ["site.css"]
html_show_sphinx = html_show_copyright = html_copy_source = False


def setup(app: Sphinx) -> None:
    """Adds the contents and the first page."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _write_index)


def _add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    if page != root_doc:
        return
    for part in (ROOT / "docs" / "README.md").read_text("utf-8").split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        pages = "\n".join(f"{name} <docs/{link}>" for name, link in re.findall(r"- \[(.+)\]\(([\w/-]+)\.md\)", text))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"


def _write_index(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={root_doc}.html"><title>snapd</title>\n'
        (Path(app.outdir) / "index.html").write_text(page, "utf-8")
