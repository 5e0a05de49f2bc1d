"""The extension of Sphinx that runs pages for their pictures, and writes commands, names and tables."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from docs.building import command_pages, measured, names, notebook_pages, pages, service_picture

SAID = logging.getLogger(__name__)
WRITERS: dict[str, Callable[[str, list[str]], str]] = {
    "commands": command_pages.write,  # every command with its options, from click
    "names": names.write,  # public names of a module with their docstrings
    "measured": measured.write,  # tables of a file of recorded measurements
    "service": service_picture.write,  # the service's page, as Chromium shows it
    "notebook": notebook_pages.write,  # a notebook, run, with what its cells put out
}
PICTURES = pages.DOCS / "_static" / "pictures"


class Picture(SphinxDirective):
    """Shows a block of Python and, below it, the picture that it draws.

    `:hide:` leaves the code out; what is `:kept:` stands in docs/ too, for the README is read unbuilt.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], object]]] = {
        "alt": directives.unchanged_required,
        "hide": directives.flag,
        "kept": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """The code, and the picture."""
        code = "\n".join(self.content)
        shown = [] if "hide" in self.options else [nodes.literal_block(code, code, language="python")]
        file = f"_static/pictures/{self.arguments[0]}"
        image = nodes.image(uri=f"/{file}", alt=self.options["alt"])
        whole = "../" * self.env.docname.count("/") + file  # a tap on a small screen shows it alone
        return [*shown, nodes.paragraph("", "", nodes.reference("", "", image, refuri=whole, internal=False))]


class Written(SphinxDirective):
    """Markdown that `WRITERS` make from the words of the directive, parsed as if it stood in the page."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """What was written."""
        text = WRITERS[self.name](self.arguments[0] if self.arguments else "", list(self.content))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def draw(app: Sphinx) -> None:
    """Runs every page that has a picture, each in a folder of its own."""
    import matplotlib

    matplotlib.use("svg")
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    here = Path.cwd()
    for page in pages.pages():
        if any(block.language == "{picture}" for block in pages.blocks(page)):
            SAID.info("running %s", page.name)
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        pages.run(page, PICTURES)
                finally:
                    os.chdir(here)
    for name in pages.kept_pictures():
        shutil.copyfile(PICTURES / name, pages.DOCS / name)
    service_picture.take(PICTURES / "service.png")


def setup(app: Sphinx) -> dict[str, object]:
    """What Sphinx calls."""
    app.connect("builder-inited", draw)
    app.add_directive("picture", Picture)
    for name in WRITERS:
        app.add_directive(name, Written)
    return {"parallel_read_safe": False}
