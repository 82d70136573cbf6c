# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration for the documentation site: ./dev site. The pages come from stage.py."""
import os

project = "cuvmm"
release = os.environ["CUVMM_SITE_VERSION"]
html_title = f"cuvmm {release}"
author = "the authors of cuvmm"
project_copyright = "the authors of cuvmm; Apache-2.0"

extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["attrs_block"]
myst_heading_anchors = 4  # with the names that code hosts use
# Myst does not see the anchors of rules, which are HTML, so its warnings are off. links.py checks every link of the built site.
suppress_warnings = ["myst.xref_missing", "myst.header"]
highlight_language = "none"
smartquotes = False

html_theme = "furo"
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["sidebar/brand.html", "versions.html", "sidebar/search.html", "sidebar/scroll-start.html",
                        "sidebar/navigation.html", "sidebar/scroll-end.html"]}
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00695c", "color-brand-content": "#00695c"},
    "dark_css_variables": {"color-brand-primary": "#4db6ac", "color-brand-content": "#4db6ac"},
}
copybutton_exclude = ".linenos, .gp"
