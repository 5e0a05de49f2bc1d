"""How Sphinx makes the site: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from infex import __version__

project = "infex"
author = "The infex team"
copyright = "2026, The infex team"  # noqa: A001 - Sphinx reads this name
release = __version__
extensions = ["myst_parser", "sphinx_copybutton", "docs.building.extension"]
exclude_patterns = ["_build", "building", "notebooks/*.ipynb"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page that is included may begin at any level
html_theme = "furo"
html_title = f"infex {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
smartquotes = False  # quotes stand in code, too
pygments_style = "default"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
