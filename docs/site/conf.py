# SPDX-License-Identifier: MIT
# Sphinx, for scripts/build_docs.sh. The version comes from there.
import os

project = "hetsched"
author = "The hetsched authors"
copyright = "2026, The hetsched authors"  # noqa: A001
release = version = os.environ["HETSCHED_VERSION"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "alabaster"
html_theme_options = {
    "description": "tasks on all CPU cores and GPUs of a machine",
    "extra_nav_links": {"Reference of the headers": "api/index.html"},
    "fixed_sidebar": True,
    "page_width": "1180px",
}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_extra_path = ["extra"]
html_show_sourcelink = False
highlight_language = "cpp"
