"""The site: `make docs` builds it into build/site, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import bayesieve

sys.path.insert(0, str(Path(__file__).parent / "site"))
import repository

project = "bayesieve"
author = "the bayesieve developers"
copyright = author
version = release = bayesieve.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "repository",
]
exclude_patterns = ["site", "generated/gallery/*.ipynb", "**/GALLERY_HEADER.rst"]
templates_path = ["site/templates"]
html_static_path = ["site/static"]
html_extra_path = ["model.schema.json"]
html_css_files = ["site.css"]

# Pages of the repository outside docs, and the folders of the site that they appear in.
repository_pages = repository.stage(
    {
        "CHANGELOG.md": "changelog",
        "CONTRIBUTING.md": "contributing",
        "lab/data-sets.md": "lab/data-sets",
        "lab/README.md": "lab/overview",
        "benchmarks/README.md": "benchmarks/scripts",
    },
    {"benchmarks/results": "benchmarks", "lab/reproduction": "lab"},
)

myst_heading_anchors = 5
myst_enable_extensions = ["colon_fence"]
myst_links_external_new_tab = False

autosummary_generate = True
autodoc_typehints = "none"
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Words of docstrings in single backticks are names in this library, or parameters.
default_role = "code"
nitpick_ignore_regex = [("py:.*", r"(numpy|np|sklearn|scipy|pandas|polars)\..*")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "figures.Order",
    "image_scrapers": ("figures",),
    "capture_repr": (),
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "notebook_extensions": set(),
    "copyfile_regex": "",
    "reset_modules": (),
    "plot_gallery": True,
    "thumbnail_size": (400, 280),
}

html_theme = "pydata_sphinx_theme"
html_title = "bayesieve"
html_favicon = "site/static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "coming-from": [], "the-model": [], "papers": []}
