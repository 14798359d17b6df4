#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs an example and compares its output with the comment at the head of its source:

    // Arguments: --size 64          (optional: how to run it)
    // Expected output:
    //   sum = 42
    //   took ... ms

The expected lines end at the first bare `//`, blank line or code. `...` matches anything within a
line; a line that is only `...` matches any number of lines. Space at both ends of a line does not
count. The program must exit with status 0.

Usage: examples.py PROGRAM SOURCE
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

COMMENT = re.compile(r"\s*//+(.*)")


def head_comment(source):
    """(arguments, expected lines or None)"""
    arguments, expected, reading = [], None, False
    for line in source.splitlines():
        match = COMMENT.fullmatch(line)
        text = match.group(1).strip() if match else ""
        if reading and text:
            expected.append(text)
        elif reading:
            break
        elif text.startswith("Arguments:"):
            arguments = shlex.split(text.removeprefix("Arguments:"))
        elif text == "Expected output:":
            expected, reading = [], True
    return arguments, expected


def pattern_of(expected):
    """The regular expression that the output, every line ended by a newline, must match."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*?".join(re.escape(part) for part in line.split("...")) + r"\n")
    return re.compile("".join(parts))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, source = sys.argv[1], Path(sys.argv[2])
    arguments, expected = head_comment(source.read_text(encoding="utf-8"))
    if not expected:
        print(f"{source.name}: has no lines below `// Expected output:` in its head comment")
        return 1

    run = subprocess.run(
        [program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    lines = [line.strip() for line in run.stdout.splitlines()]
    matches = pattern_of(expected).fullmatch("".join(line + "\n" for line in lines))
    if run.returncode == 0 and matches:
        print(f"{source.name}: the output is as expected")
        return 0

    if run.returncode:
        print(f"{source.name}: exit status {run.returncode}")
    if not matches:
        print(f"{source.name}: expected\n" + "".join(f"    {line}\n" for line in expected), end="")
    print("got\n" + "".join(f"    {line}\n" for line in lines), end="")
    return 1


if __name__ == "__main__":
    sys.exit(main())
