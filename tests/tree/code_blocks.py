#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the C++ of the README and of docs/: what a page shows must compile.

Usage: code_blocks.py ROOT BUILD_DIR COMPILER...     (-fsyntax-only is added)

The blocks of a page are one source, in their order; pages that declare nothing by the same name are
one source together. A block that begins with a declaration stands in the global namespace. Any other
is the body of a function, where `rt` is a Runtime<> if the block makes none. What a block needs
beside that stands before it, where readers of the page do not see it:

    <!-- needs: std::vector<double> x; -->       declarations, in the same scope
    <!-- shown: why it cannot be compiled -->    the block is left out

A block with `main` is a source of its own. BUILD_DIR is a Meson build with tests: the pages are
compiled with the folders and packages of tests/tree's headers.
"""

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_with

BLOCK = re.compile(r"(?:^<!-- (needs|shown): (.*?) -->\n+)?^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DECLARATION = re.compile(r"\s*(?://[^\n]*\n\s*)*(?:(?:namespace|using|struct|class|template|void)\b|hs::Coroutine<)")
STATEMENT = re.compile(r"^(rt\.|auto |for |try |std::\w+<|hs::policies::)", re.MULTILINE)
MAKES_RT = re.compile(r"\brt[({;]|& rt\b")
MAIN = re.compile(r"^int main\(", re.MULTILINE)
FIRST = re.compile(r"^#(?:include|define) [^\n]*", re.MULTILINE)
NAME = re.compile(r"^(?:struct|class|using) (\w+)(?! *;)", re.MULTILINE)
# Most pages show parts of a program that has begun like this.
BEGIN = """#include <hetsched/hetsched.hpp>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <vector>
namespace hs = hetsched;
"""


def blocks(page):
    """For each block that is not only shown: its line, what it needs, and its code."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        kind, said, code = match.groups()
        if kind != "shown":
            yield text.count("\n", 0, match.start(3)) + 1, said or "", code


class Source:
    """What is compiled at a time."""

    def __init__(self, is_program=False):
        self.first, self.parts, self.names, self.pages = set(), [], set(), []
        self.is_program = is_program

    def add(self, first, parts, names, page):
        self.first |= first
        self.parts += parts
        self.names |= names
        self.pages.append(page)

    def text(self):
        # A definition sorts before what includes.
        return "\n".join([*sorted(self.first), *([] if self.is_program else [BEGIN]), *self.parts])


def parts_of(page, name):
    """What stands before all else, the blocks as C++, and the names that they give to the file."""
    first, parts, names = set(), [], set()
    for line, needs, code in blocks(page):
        if MAIN.search(code):
            continue
        first.update(FIRST.findall(needs), FIRST.findall(code))
        needs, code = FIRST.sub("", needs), FIRST.sub("", code)
        is_body = not DECLARATION.match(code) or STATEMENT.search(code)
        part = f'{needs}\n#line {line} "{name}"\n{code}'
        if is_body:
            own = "" if MAKES_RT.search(code) else "hs::Runtime<> rt;\n"
            function = re.sub(r"\W", "_", f"{name}_{line}")
            part = f"void {function}() {{\n{own}{part}}}\n"
        else:
            names.update(NAME.findall(needs + code))
        parts.append(part)
    return first, parts, names


def sources(root):
    """All that is to be compiled."""
    together, programs = [], []
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        name = page.relative_to(root)
        for line, _, code in blocks(page):
            if MAIN.search(code):
                program = Source(is_program=True)
                program.add(set(), [f'#line {line} "{name}"\n{code}'], set(), name)
                programs.append(program)
        first, parts, names = parts_of(page, name)
        if parts:
            fitting = next((source for source in together if not source.names & names), None)
            if fitting is None:
                fitting = Source()
                together.append(fitting)
            fitting.add(first, parts, names, name)
    return together + programs


def options(folder):
    """Those of the source with all headers, and the folder where it is compiled."""
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        if entry["file"].endswith("headers_all.cpp"):
            return entry["directory"], check_with.options(entry)
    sys.exit(f"code_blocks: {folder} has no source with all headers: build it with tests")


def check(compiler, directory, text):
    """What the compiler says if it refuses TEXT."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
        file.write(text)
        file.flush()
        run = subprocess.run([*compiler, "-fsyntax-only", "-w", file.name], cwd=directory,
                             capture_output=True, text=True, check=False)  # fmt: skip
    return run.stdout + run.stderr if run.returncode else ""


def main():
    root, folder, *compiler = sys.argv[1:]
    directory, words = options(Path(folder))
    found = sources(Path(root).resolve())
    failures = 0
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda source: check([*compiler, *words], directory, source.text()), found)
        for source, said in zip(found, results):
            failures += bool(said)
            pages = " ".join(str(page) for page in source.pages)
            print(f"{'FAILED' if said else 'ok    '} {pages}\n{said}", end="")
    blocks_found = sum(len(source.parts) for source in found)
    print(f"{blocks_found} blocks")
    return 1 if failures or blocks_found < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
