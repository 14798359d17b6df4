#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles every program of this folder and checks what the compiler says.

NAME.cpp must not compile, and the text of every line `// expected-error: TEXT` in it must be in
the compiler's output (at least one such line). ok_NAME.cpp must compile: it shows that the cases
beside it fail for their own reason.

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


def check(compiler, source):
    """Returns (what is wrong, or None; the compiler's output)."""
    run = subprocess.run(
        [*compiler, "-fsyntax-only", str(source)],
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

    expected = EXPECTED.findall(source.read_text(encoding="utf-8"))
    if not expected:
        return "has no line `// expected-error: TEXT`", ""
    if run.returncode == 0:
        return "compiles, but must not", run.stdout
    missing = [text for text in expected if text not in run.stdout]
    if missing:
        return "the compiler does not say: " + "; ".join(missing), run.stdout
    return None, run.stdout


def main():
    compiler = sys.argv[1:]
    if not compiler:
        sys.exit(__doc__)
    sources = sorted(Path(__file__).resolve().parent.glob("*.cpp"))
    if not sources:
        print("no programs in tests/compile_fail")
        return 77  # skipped

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
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
    for source, (wrong, output) in zip(sources, results):
        if wrong:
            failures += 1
            print(f"FAILED {source.name}: {wrong}")
            print("".join(f"    {line}\n" for line in output.splitlines()[:40]), end="")
        else:
            print(f"ok     {source.name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
