#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the public headers that no public header includes first, one a line, sorted.

If each of these compiles alone, every public header does: what a header includes first is compiled
with nothing before it, and so is what that header includes first. core/version.hpp does not count:
it has only macros.

Usage: first_includes.py FOLDER      (that of the headers `hetsched/...`)
"""

import re
import sys
from pathlib import Path

DIRECTIVE = re.compile(r"^\s*#\s*(?!pragma)(\w+)\s*(.*?)\s*$", re.MULTILINE)


def first_include(path):
    """The header `hetsched/...` that PATH includes before anything else, or None."""
    for kind, what in DIRECTIVE.findall(path.read_text(encoding="utf-8")):
        name = kind == "include" and re.fullmatch(r"<hetsched/(.*)>", what)
        if not name or name[1] != "core/version.hpp":
            return name[1] if name else None
    return None


root = Path(sys.argv[1])
first = {path.relative_to(root).as_posix(): first_include(path) for path in root.rglob("*.hpp")}
public = sorted(name for name in first if not name.startswith("detail/"))
shown = set()
for name in public:
    following = first[name]
    while following:
        shown.add(following)
        following = first.get(following)
print("\n".join(name for name in public if name not in shown))
