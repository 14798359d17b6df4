#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts the report's page together and writes it as C++: page_before_data and page_after_data, in
pieces that every compiler takes.

Usage: embed.py OUTPUT EMBED D3 PAGE FILE...
  EMBED  this file
  FILE   what PAGE names, as in {{page.css}}
"""

import sys
from pathlib import Path

PIECE = 16000
DELIMITER = "page_text"


def literals(text):
    for k in range(0, len(text), PIECE):
        yield f'    R"{DELIMITER}({text[k : k + PIECE]}){DELIMITER}",\n'


def main():
    output, _, d3, page, *files = map(Path, sys.argv[1:])
    text = page.read_text(encoding="utf-8")
    for name, path in [("d3", d3)] + [(file.name, file) for file in files]:
        part = path.read_text(encoding="utf-8").replace("\r", "")
        place = "{{" + name + "}}"
        if text.count(place) != 1:
            sys.exit(f"{page}: has {place} {text.count(place)} times")
        if "</script" in part or f"){DELIMITER}" in part:
            sys.exit(f"{path}: cannot be embedded")
        text = text.replace(place, part)
    before, data, after = text.partition("{{data}}")
    if not data or "{{" + "data}}" in after:
        sys.exit(f"{page}: has no one place for data")
    with output.open("w", encoding="utf-8") as out:
        out.write("// SPDX-License-Identifier: MIT\n// Made by embed.py.\n")
        out.write('#include "tools/report/page.hpp"\n\nnamespace benchmarks {\n\n')
        for name, part in [("before", before), ("after", after)]:
            out.write(f"static constexpr std::string_view {name}[] = {{\n")
            out.writelines(literals(part))
            out.write("};\n\n")
            out.write(f"std::span<std::string_view const> const page_{name}_data({name});\n\n")
        out.write("} // namespace benchmarks\n")


if __name__ == "__main__":
    main()
