#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks every source of a Meson build with another compiler: its warnings are errors, no code is made.

Usage: check_with.py BUILD_DIR COMPILER [jobs] [--except OTHER_DIR] [--only FOLDER]

Sources whose object is in OTHER_DIR, a build by that compiler, are left out, because that build has
checked them. Files that Meson compiles together are also left out, if they are the same in both
builds. With FOLDER, only sources in that folder of the source tree are checked. Of several programs
from the same sources, the first is checked: the others differ in what they define, and
scripts/thorough.sh compiles them.

Sources with the same options are checked TOGETHER at a time, because most of what they include and
instantiate is the same. The headers come first, and each program is in a namespace. Where that is not
accepted, each of these sources is checked alone, and only what is found then counts. The last line is
`N passed, N failed`.
"""
import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KEPT = ("-I", "-isystem", "-D", "-W", "-std=", "-pthread", "-fopenmp")
TOGETHER = 12  # g++ 12 takes some 1.5 GB for so many
DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(\w+)[ \t]*([<"]?)([^>"\n]*)([>"]?)', re.MULTILINE)


def options(entry):
    """What ENTRY compiles with, without folders that hold only what Meson makes for one target."""
    words = shlex.split(entry["command"])[1:]
    return tuple(word for word in words
                 if word.startswith(KEPT) and not (word.startswith("-I") and word.endswith(".p")))


def compile_only(compiler, words, directory, source):
    return subprocess.run([compiler, "-fsyntax-only", "-Werror", *words, str(source)],
                          cwd=directory, capture_output=True, text=True)


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


def headers(source):
    """The lines that include what SOURCE includes, or None if another directive is among them."""
    lines = []
    others = False
    for word, quote, name, _ in DIRECTIVE.findall(source.read_text()):
        if word != "include":
            others = True
        elif others:
            return None
        elif quote == '"' and (source.parent / name).exists():
            lines.append(f'#include "{(source.parent / name).resolve()}"')
        else:
            lines.append(f"#include <{name}>")
    return lines


def is_program(source):
    return re.search(r"^int main\(", source.read_text(), re.MULTILINE) is not None


def is_alone(source):
    """Whether SOURCE cannot be compiled with others. In a namespace no template of the library can be
    specialised, and main needs a return. What replaces functions of the C library declares them."""
    text = source.read_text()
    return headers(source) is None or "\nextern \"C\" {" in text or is_program(source) and (
        re.search(r"^(struct|namespace) hetsched\b", text, re.MULTILINE) is not None
        or "\n  return" not in text[text.index("\nint main("):])


def together(group):
    """A source that compiles all of GROUP."""
    lines = [line for source in group for line in headers(source)]
    for number, source in enumerate(group):
        if is_program(source):
            lines += [f"namespace program_{number} {{", f'#include "{source}"', "}"]
        else:
            lines.append(f'#include "{source}"')
    return "\n".join(lines) + "\n"


def check(compiler, words, directory, group):
    """The names of the sources of GROUP that COMPILER refuses, each with what it says."""
    if len(group) > 1:
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
            file.write(together(group))
            file.flush()
            result = compile_only(compiler, [*words, "-Wfatal-errors"], directory, file.name)
        if result.returncode == 0:
            return []
        said = next((line for line in result.stderr.splitlines() if "error" in line), "")
        print(f"not together, so each alone: {' '.join(s.name for s in group)}: {said}", flush=True)
    results = [(source, compile_only(compiler, words, directory, source)) for source in group]
    return [(source, result.stdout + result.stderr) for source, result in results if result.returncode]


def kind(entry):
    """With these definitions, the same source has other code."""
    return "-DHETSCHED_CONTROLLED" in options(entry)


def groups(entries, known, only):
    """Lists of sources that are checked together, each with its options and folder."""
    found = {}
    seen = {(source, kind(entry)) for entry in entries if is_known(entry, known)
            for source in sources(entry)}
    for entry in entries:
        for source in sources(entry):
            if (source, kind(entry)) in seen or not source.is_relative_to(only):
                continue
            seen.add((source, kind(entry)))
            alone = source if is_alone(source) else None
            found.setdefault((options(entry), entry["directory"], alone), []).append(source)
    for (words, directory, _), members_of_group in found.items():
        for begin in range(0, len(members_of_group), TOGETHER):
            yield words, directory, members_of_group[begin:begin + TOGETHER]


def main():
    arguments = sys.argv[1:]
    known, only = Path(), Path("/")
    if "--except" in arguments:
        at = arguments.index("--except")
        known = Path(arguments[at + 1])
        del arguments[at:at + 2]
    if "--only" in arguments:
        at = arguments.index("--only")
        only = Path(arguments[at + 1]).resolve()
        del arguments[at:at + 2]
    folder, compiler = Path(arguments[0]), arguments[1]
    jobs = int(arguments[2]) if len(arguments) > 2 else 2
    entries = json.loads((folder / "compile_commands.json").read_text())
    # Of the sources made of headers, it is enough to check the one with all of them.
    entries = [entry for entry in entries
               if entry["file"].endswith(".cpp") and "/header_" not in entry["file"]]
    checks = list(groups(entries, known, only))
    failures = []
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda arguments: check(compiler, *arguments), checks):
            failures += found
    for source, said in failures:
        print(f"FAILED: {compiler} on {source}\n{said}")
    checked = sum(len(group) for _, _, group in checks)
    print(f"{checked - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
