#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the contract block above every policy.

Every file under policies/{schedulers,caches,perf_models,queues} has a comment with the fields
below in this order, each `// Field: text` or `/// Field: text`; a field may go on over further
comment lines. From the first field to the end of the comment are at most 20 lines. A comment with
the first field is a contract block; others are left alone.

Usage: contract_blocks.py FOLDER      (include/hetsched)
"""

import re
import sys
from pathlib import Path

FIELDS = [
    "Decides",
    "Source",
    "Cost",
    "Needs",
    "Threading",
    "Deterministic",
    "Knobs",
    "Limits",
]
MAX_LINES = 20
FOLDERS = ["schedulers", "caches", "perf_models", "queues"]

COMMENT = re.compile(r"\s*///?(?!/)(.*)")
FIELD = re.compile(r"\s*(" + "|".join(FIELDS) + r"):(.*)")


def comments(text):
    """Yields (number of the first line, lines without their slashes) per run of // lines."""
    run, first = [], 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        match = COMMENT.fullmatch(line)
        if match:
            first = first if run else number
            run.append(match.group(1))
        elif run:
            yield first, run
            run = []


def check_block(lines):
    """Yields what is wrong with one block: comment lines from `Decides:` on."""
    if len(lines) > MAX_LINES:
        yield f"the contract block has {len(lines)} lines, at most {MAX_LINES} are allowed"
    found, texts = [], {}
    for line in lines:
        match = FIELD.fullmatch(line)
        if match:
            found.append(match.group(1))
            texts[match.group(1)] = match.group(2).strip()
        elif found:
            texts[found[-1]] += line.strip()
    for field in FIELDS:
        if field not in texts:
            yield f"the contract block has no field {field}"
        elif not texts[field]:
            yield f"field {field} is empty"
    present = [field for field in FIELDS if field in texts]
    if found != present:
        yield "the fields are not each once in the order " + ", ".join(FIELDS)


def check_file(path):
    """Yields (line, what is wrong)."""
    blocks = 0
    for first, lines in comments(path.read_text(encoding="utf-8")):
        fields = [(i, FIELD.fullmatch(line)) for i, line in enumerate(lines)]
        fields = [(i, match.group(1)) for i, match in fields if match]
        if FIELDS[0] in [name for _, name in fields]:
            blocks += 1
            start = fields[0][0]
            for wrong in check_block(lines[start:]):
                yield first + start, wrong
    if not blocks:
        yield 1, "has no contract block: " + ", ".join(FIELDS)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    paths = sorted(p for folder in FOLDERS for p in (root / "policies" / folder).rglob("*.hpp"))
    failures = [(path, line, wrong) for path in paths for line, wrong in check_file(path)]
    for path, line, wrong in failures:
        print(f"include/hetsched/{path.relative_to(root).as_posix()}:{line}: {wrong}")
    print(f"{len(paths)} policies, {len(failures)} violations")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
