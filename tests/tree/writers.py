#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that all files are written by NewFile, which replaces them as a whole.

Usage: writers.py ROOT      (the repository)
"""

import re
import sys
from pathlib import Path

FOLDERS = ["include", "cuda", "examples", "benchmarks"]
WRITES = re.compile(r'\bofstream\b|\bfstream\b(?!>)|\bO_CREAT\b|\bcreat\(|\bfopen\([^;]*"[wa]|\bfreopen\(')
HOMES = {
    "include/hetsched/detail/files/new_file.hpp",
    "include/hetsched/detail/recording/event_file.hpp",  # ends with the run, or is what is left of it
    "include/hetsched/detail/policies/model_files.hpp",  # a file to lock, which stays empty
}


def main():
    root = Path(sys.argv[1])
    found = 0
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.[hc]*"))]
    for path in paths:
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for match in WRITES.finditer(text):
            if name not in HOMES:
                line = text.count("\n", 0, match.start()) + 1
                print(f"{name}:{line}: {match.group()}: files are written by NewFile")
                found += 1
    if not paths or not WRITES.search((root / min(HOMES)).read_text(encoding="utf-8")):
        print("no files, or no writer: this check checks nothing")
        found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
