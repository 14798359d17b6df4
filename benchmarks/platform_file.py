# SPDX-License-Identifier: MIT
"""Writes platform files that are derived: for derive_*.py."""

import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).parent / "platforms"


def read(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def write(platform):
    """To the file of the platform's name, lists in a line each."""
    text = json.dumps(platform, indent=1)
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)
    (FOLDER / f"{platform['name']}.json").write_text(text + "\n")
