#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the C++ of the README and of docs/: what a page shows must compile.

Usage: code_blocks.py ROOT BUILD_DIR COMPILER...     (-fsyntax-only is added)

The blocks of a page are one source, in their order. A block that begins with a declaration stands in
the global namespace. Any other is the body of a function, where `rt` is a Runtime<> if the block makes
none. What a block needs beside that stands before it, where readers of the page do not see it:

    <!-- needs: std::vector<double> x; -->       declarations, in the same scope
    <!-- shown: why it cannot be compiled -->    the block is left out

A block with `main` is a source of its own. BUILD_DIR is a Meson build with tests: the pages are
compiled with the folders and packages of tests/tree's headers.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BLOCK = re.compile(r"(?:^<!-- (needs|shown): (.*?) -->\n+)?^```(?:cpp|cuda)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DECLARATION = re.compile(r"\s*(?://[^\n]*\n\s*)*(namespace|using|struct|class|template|void)\b")
STATEMENT = re.compile(r"^(rt\.|auto |for |try |std::\w+<|hs::policies::)", re.MULTILINE)
MAKES_RT = re.compile(r"\brt[({;]|& rt\b")
FIRST = re.compile(r"^#(?:include|define) [^\n]*", re.MULTILINE)
KEPT = ("-I", "-isystem", "-D", "-std=", "-pthread")
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
"""


def blocks(text):
    """For each block: its line, what it needs, and its code. A block that is only shown is none."""
    for match in BLOCK.finditer(text):
        kind, said, code = match.groups()
        if kind != "shown":
            yield text.count("\n", 0, match.start(3)) + 1, said or "", code


def sources(page, root):
    """The sources that PAGE makes."""
    name = page.relative_to(root)
    first, parts = set(), []  # a definition sorts before what includes
    for line, needs, code in blocks(page.read_text(encoding="utf-8")):
        if re.search(r"^int main\(", code, re.MULTILINE):
            yield f'#line {line} "{name}"\n{code}'
            continue
        first.update(FIRST.findall(needs), FIRST.findall(code))
        needs = FIRST.sub("", needs)
        code = f'{needs}\n#line {line} "{name}"\n{FIRST.sub("", code)}'
        if not DECLARATION.match(FIRST.sub("", code.split("\n", 2)[2])) or STATEMENT.search(code):
            own = "" if MAKES_RT.search(code) else "hs::Runtime<> rt;\n"
            code = f"void block_at_{line}() {{\n{own}{code}}}\n"
        parts.append(code)
    if parts:
        yield "\n".join([*sorted(first), BEGIN, "namespace hs = hetsched;", *parts])


def options(folder):
    """Those of the source with all headers."""
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        if entry["file"].endswith("headers_all.cpp"):
            words = shlex.split(entry["command"])
            return entry["directory"], [word for before, word in zip([""] + words, words)
                                        if word.startswith(KEPT) or before == "-isystem"]  # fmt: skip
    sys.exit(f"code_blocks: {folder} has no source with all headers: build it with tests")


def check(compiler, directory, source):
    """What the compiler says if it refuses SOURCE."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
        file.write(source)
        file.flush()
        run = subprocess.run([*compiler, "-fsyntax-only", "-w", file.name], cwd=directory,
                             capture_output=True, text=True, check=False)  # fmt: skip
    return run.stdout + run.stderr if run.returncode else ""


def main():
    root, folder, *compiler = sys.argv[1:]
    root = Path(root).resolve()
    directory, words = options(Path(folder))
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    found = [(page, source) for page in pages for source in sources(page, root)]
    # The longest page first.
    found.sort(key=lambda item: -len(item[1]))
    failures = 0
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda item: check([*compiler, *words], directory, item[1]), found)
        for (page, _), said in zip(found, results):
            failures += bool(said)
            print(f"{'FAILED' if said else 'ok    '} {page.relative_to(root)}\n{said}", end="")
    return 1 if failures or len(found) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
