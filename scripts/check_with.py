#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has another compiler look at every source of a Meson build: its warnings are errors, no code is made.

Usage: check_with.py BUILD_DIR COMPILER [jobs]    prints `N passed, N failed` last
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


def main():
    folder, compiler = Path(sys.argv[1]), sys.argv[2]
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    entries = json.loads((folder / "compile_commands.json").read_text())
    # Of the sources made of one header each, the one with all headers says as much.
    entries = [entry for entry in entries
               if entry["file"].endswith(".cpp") and "/header_" not in entry["file"]]
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
