"""How `make docs` builds the documentation: Markdown pages and docstrings, as pages that open from a folder without a network."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parents[1] / "src")]

from howsure import __version__  # noqa: E402 (its folder is named above)

project = "Howsure"
release = version = __version__
html_title = "Howsure"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "formulas", "pictures", "for_programs"]
exclude_patterns = ["_ext"]
suppress_warnings = ["misc.highlighting_failure"]

# Markdown
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

# docstrings: `name` is code, types stand in the signature
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# pages
html_theme = "furo"
html_static_path = ["assets"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a folder cannot serve
html_show_sphinx = False
html_show_copyright = False
