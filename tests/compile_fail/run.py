#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles every program of this folder and checks what the compiler says.

NAME.cpp must not compile, and the text of every line `// expected-error: TEXT` in it must be in
the compiler's output (at least one such line), the first of them within the first 10 lines of clang++
and the first 20 of g++, which first says at length where the error is instantiated. A line
`// expected-within: N` has another limit, and one whose line `// needs: PACKAGE` names what pkg-config does
not find is left out. ok_NAME.cpp must compile: it shows that the cases
beside it fail for their own reason. With C++17 each umbrella header must say within ten lines that
it needs C++20.

Usage: run.py COMPILER [ARGUMENT...]      (-fsyntax-only is added)

What all of them include is compiled once, before, where the compiler can keep that.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXPECTED = re.compile(r"//\s*expected-error:\s*(.*?)\s*$", re.MULTILINE)
WITHIN = re.compile(r"//\s*expected-within:\s*(\d+)")
NEEDS = re.compile(r"//\s*needs:\s*(\S+)")


def says_within(lines, output, text):
    return any(text in line for line in output.splitlines()[:lines])


def check(compiler, source):
    """Returns (what is wrong, or None; the compiler's output)."""
    program = source.read_text(encoding="utf-8")
    flags = []
    if needed := NEEDS.search(program):
        asked = subprocess.run(["pkg-config", "--cflags", needed[1]], stdout=subprocess.PIPE, text=True, check=False)
        if asked.returncode:
            return None, ""
        flags = [flag.replace("-I", "-isystem") for flag in asked.stdout.split()]
    run = subprocess.run(
        [*compiler, *flags, "-fsyntax-only", str(source)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "LC_ALL": "C"},  # plain quotes in messages
        check=False,
    )
    if source.name.startswith("ok_"):
        return ("does not compile" if run.returncode else None), run.stdout

    expected = EXPECTED.findall(program)
    if not expected:
        return "has no line `// expected-error: TEXT`", ""
    if run.returncode == 0:
        return "compiles, but must not", run.stdout
    missing = [text for text in expected if text not in run.stdout]
    if missing:
        return "the compiler does not say: " + "; ".join(missing), run.stdout
    own = WITHIN.search(program)
    within = int(own[1]) if own else 10 if "clang" in compiler[0] else 20
    if not says_within(within, run.stdout, expected[0]):
        return f"not within {within} lines: {expected[0]}", run.stdout
    return None, run.stdout


def check_old_standard(compiler, header):
    """The same, for an umbrella header in C++17."""
    run = subprocess.run(
        [*compiler, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"],
        input=f"#include <hetsched/{header.name}>\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    told = says_within(10, run.stdout, "needs C++20")
    return (None if told and len(run.stdout.splitlines()) < 20 else "does not say that it needs C++20"), run.stdout


def main():
    compiler = sys.argv[1:]
    if not compiler:
        sys.exit(__doc__)
    here = Path(__file__).resolve()
    sources = sorted(here.parent.glob("*.cpp"))
    umbrellas = sorted((here.parents[2] / "include" / "hetsched").glob("*.hpp"))
    if not sources:
        print("no programs in tests/compile_fail")
        return 77  # skipped

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        old = list(pool.map(lambda header: check_old_standard(compiler, header), umbrellas))
        common = Path(folder, "common.hpp")
        common.write_text("#include <hetsched/hetsched.hpp>\n")
        subprocess.run(
            [*compiler, "-x", "c++-header", str(common), "-o", f"{common}.gch"],
            stdin=subprocess.DEVNULL,
            check=False,
        )
        compiler += ["-include", str(common)]
        results = list(pool.map(lambda source: check(compiler, source), sources))

    failures = 0
    for source, (wrong, output) in zip(umbrellas + sources, old + results):
        if wrong:
            failures += 1
            print(f"FAILED {source.name}: {wrong}")
            print("".join(f"    {line}\n" for line in output.splitlines()[:40]), end="")
        else:
            print(f"ok     {source.name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
