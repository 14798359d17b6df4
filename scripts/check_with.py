#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks every source of a Meson build with another compiler: its warnings are errors, no code is made.

Usage: check_with.py BUILD_DIR COMPILER [jobs] [--except OTHER_DIR]

Sources whose object is in OTHER_DIR, a build by that compiler, are left out, because that build has
checked them. Files that Meson compiles together are also left out, if they are the same in both
builds. The last line is `N passed, N failed`.
"""
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KEPT = ("-I", "-isystem", "-D", "-W", "-std=", "-pthread", "-fopenmp")


def check(entry, compiler):
    arguments = shlex.split(entry["command"])[1:]
    command = [compiler, "-fsyntax-only", "-Werror"]
    command += [word for word in arguments if word.startswith(KEPT)]
    command.append(entry["file"])
    return subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)


def members(unity):
    """The files that a source made by Meson compiles together."""
    lines = unity.read_text().splitlines() if unity.exists() else []
    return [Path(line.removeprefix("#include<").removesuffix(">")).resolve() for line in lines]


def is_known(entry, known):
    if not (known / entry["output"]).exists():
        return False
    generated = Path(entry["output"]).parent / Path(entry["file"]).name
    return members(Path(entry["directory"]) / generated) == members(known / generated)


def main():
    arguments = sys.argv[1:]
    known = Path()
    if "--except" in arguments:
        at = arguments.index("--except")
        known = Path(arguments[at + 1])
        del arguments[at:at + 2]
    folder, compiler = Path(arguments[0]), arguments[1]
    jobs = int(arguments[2]) if len(arguments) > 2 else 2
    entries = json.loads((folder / "compile_commands.json").read_text())
    # Of the sources made of one header each, it is enough to check the one with all headers.
    entries = [entry for entry in entries
               if entry["file"].endswith(".cpp") and "/header_" not in entry["file"]
               and not is_known(entry, known)]
    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda entry: check(entry, compiler), entries)
        for entry, result in zip(entries, results):
            if result.returncode != 0:
                failed += 1
                print(f"FAILED: {compiler} on {entry['file']}\n{result.stdout}{result.stderr}")
    print(f"{len(entries) - failed} passed, {failed} failed")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
