#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks every source of a Meson build with another compiler: its warnings are errors, no code is made.

Usage: check_with.py BUILD_DIR COMPILER [jobs] [--except OTHER_DIR]

Sources whose object is in OTHER_DIR, a build by that compiler, are left out, because that build has
checked them. Files that Meson compiles together are also left out, if they are the same in both
builds. Of several programs from the same sources, the first is checked: the others differ in what
they define, and scripts/thorough.sh compiles them. The last line is `N passed, N failed`.
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


def generated(entry):
    """Where Meson writes the source of ENTRY if it makes it, relative to the build folder."""
    return Path(entry["output"]).parent / Path(entry["file"]).name


def sources(entry):
    """What ENTRY compiles."""
    made = Path(entry["directory"]) / generated(entry)
    return tuple(members(made)) or (Path(entry["directory"], entry["file"]).resolve(),)


def is_known(entry, known):
    if not (known / entry["output"]).exists():
        return False
    made = generated(entry)
    return members(Path(entry["directory"]) / made) == members(known / made)


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
    entries = list({sources(entry): entry for entry in reversed(entries)}.values())[::-1]
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
