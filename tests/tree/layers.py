#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the files under include/hetsched may include.

A folder is a room. A file includes its own row's folders or those of a row above it in ROOMS, which
docs/internals.md shows, too. The runtime and the engines never include a policy, and a scheduler
includes no policy but queues: they meet only in user code. Headers directly in include/hetsched are
for users: no other header includes them. Some headers are banned, or have one home, or are kept out
of what hetsched.hpp includes, since every program compiles that.

Usage: layers.py FOLDER [PAGE]      (include/hetsched, docs/internals.md)
"""

import re
import sys
from pathlib import Path, PurePosixPath

# Lowest first: folders, and what is in them. The longest folder that a path begins with counts.
ROOMS = [
    ("core, detail/core, detail/controlled", "vocabulary: ids, time, errors, access modes, views, task types, settings"),
    ("detail/files", "text and JSON files"),
    ("concepts", "what a policy offers and what it may ask"),
    ("graphs, detail/graphs", "task graphs as plain data"),
    ("platform", "descriptions of machines and of simulations"),
    ("trace", "what a trace holds"),
    ("bounds, detail/bounds", "lower bounds on makespans"),
    ("independent, detail/independent", "solvers for batches of independent tasks"),
    ("plans, detail/plans", "static schedules and how they are found"),
    ("trace/analysis, trace/formats, detail/trace", "looking at traces, reading and writing them"),
    ("policies, detail/policies", "schedulers, queues, caches, performance models, and what they share"),
    ("testing, detail/testing", "conformance kits for policies"),
    ("gpu", "what bodies on a GPU use; the C interface of devices"),
    ("detail/memory", "copies of data in memory nodes: state machines that know no engine"),
    ("detail/dataflow", "dependencies from access modes: task and data records; knows no engine"),
    ("detail/recording", "from what engines tell to a trace"),
    ("handles", "what a program holds on to: data, their parts, groups of tasks"),
    ("detail/spawn", "from a spawn's arguments to a registered task"),
    ("detail/engine", "what both engines have in common"),
    ("detail/checking", "what HETSCHED_CHECK=access does around a body"),
    ("detail/threads", "the engine of real threads"),
    ("detail/coroutines", "coroutines: who goes on when, and where their frames are"),
    ("detail/virtual_time", "the engine of virtual time"),
    ("runtime, detail/compiled", "the runtime as programs use it; what the compiled library adds"),
    ("simulation", "the runtime in virtual time"),
    ("lookahead, detail/lookahead", "schedulers that simulate ahead"),
    ("cluster, detail/cluster", "one program on several ranks: transports, transfers, what the ranks do together"),
    ("collections, detail/collections", "independent tasks on global arrays, stolen between ranks"),
    ("algorithms, detail/algorithms", "loops, reductions, sorting and pipelines over tasks"),
    ("linalg, detail/linalg, stencil", "algorithms on tiles"),
    ("sparse, detail/sparse", "sparse matrices: in dense blocks, and direct solvers"),
]
ENGINES = ["detail/dataflow/", "detail/spawn/", "detail/engine/", "detail/threads/",
           "detail/virtual_time/", "runtime/"]

BANNED = re.compile(
    r"iostream|regex|future|ranges|random|format|(cuda|cublas|cusolver).*"
)

# What the headers that every program includes do without, because it takes long to parse.
# detail/core/array.hpp has an owning pointer.
HEAVY = re.compile(r"memory|functional|chrono|thread|condition_variable|unordered_.*|.*stream")

# Headers with one home: what is included, and the only places that may.
HOMES = [
    (re.compile(r"chrono"), ["runtime/progress.hpp"]),
    (re.compile(r"source_location"), ["runtime/runtime.hpp", "detail/spawn/lambda_types.hpp"]),
    (re.compile(r"boost/.*"), ["policies/queues/mailbox.hpp"]),
    (re.compile(r"(Eigen|unsupported)/.*|(cblas|lapacke|lapack|openblas_config)\.h"),
      ["linalg/", "detail/linalg/", "sparse/", "detail/sparse/"]),
    (re.compile(r"metis\.h"), ["detail/sparse/ordering.hpp"]),
    (re.compile(r"mpi\.h|mpi_is_missing"), ["detail/cluster/mpi_calls.hpp"]),
    (re.compile(r"hwloc.*"), ["platform/hwloc.hpp"]),
    (re.compile(r"coin/Cbc.*"), ["detail/collections/distribution_program.hpp"]),
    (re.compile(r"coin/(?!Cbc).*"), ["detail/bounds/"]),
    (re.compile(r"gecode/.*"), ["detail/plans/", "plans/constraint_solver.hpp"]),
    (re.compile(r"nlohmann/.*"), ["detail/files/json_file.hpp", "detail/policies/model_files.hpp", "graphs/graph_json.hpp",
      "plans/static_plan_json.hpp", "detail/trace/formats/", "trace/formats/read_trace.hpp"]),
]

# A scheduler has no concurrency of its own and reads no clock: queues and the context have both.
SCHEDULER_BANNED_INCLUDES = re.compile(
    r"atomic|mutex|shared_mutex|thread|stop_token|condition_variable|semaphore|latch|barrier"
    r"|chrono|ctime|time\.h|pthread\.h"
)
SCHEDULER_BANNED_WORDS = re.compile(
    r"\b(std\s*::\s*)?(\w*mutex|atomic\w*|j?thread|this_thread|thread_local|condition_variable\w*"
    r"|(lock_guard|unique_lock|scoped_lock|shared_lock)|\w+_clock|clock_gettime|pthread_\w+)\b"
)

# What a controller of threads must see has one name in detail/core, which programs compiled with
# HETSCHED_CONTROLLED give another meaning.
UNSEEN = re.compile(r"\bstd\s*::\s*(atomic\s*<|mutex\b|thread\b|condition_variable\b)|\b(sched_yield|nanosleep|pthread_create)\b")
UNSEEN_ALLOWED = ["core/", "detail/core/", "detail/controlled/", "testing/", "detail/testing/", "runtime/progress.hpp",
                  "detail/spawn/lambda_types.hpp", "detail/spawn/lambda_types_inl.hpp"]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

# Comments, string and character literals: a literal's place keeps its quotes, so that an include's
# name survives in neither; includes are read before. (?<!\w)' leaves digit separators alone.
NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])*'", re.DOTALL
)


def is_in(name, places):
    return any(name.startswith(p) if p.endswith("/") else name == p for p in places)


FOLDERS = {folder: row for row, (folders, _) in enumerate(ROOMS) for folder in folders.split(", ")}
TOP = len(ROOMS)  # of the headers that are in no folder


def row_of(name):
    """The row of a header, or None."""
    folder = PurePosixPath(name).parent.as_posix()
    if folder == ".":
        return 0 if name == "fwd.hpp" else TOP
    while folder != "." and folder not in FOLDERS:
        folder = PurePosixPath(folder).parent.as_posix()
    return FOLDERS.get(folder)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without_comments(text):
    """The text with comments blanked; lines keep their numbers."""

    def blank(match):
        kept = match.group() if match.group()[0] in "\"'" else ""
        return kept or "\n" * match.group().count("\n")

    return NOT_CODE.sub(blank, text)


def check_include(root, name, kind, target):
    """What is wrong with `name` including `target`, or None."""
    if kind == '"':
        beside = (root / name).parent / target
        if not beside.is_file():
            return f'"{target}" is not beside it; other projects are included with <>'
        target = PurePosixPath(beside.resolve().relative_to(root)).as_posix()
    elif target.startswith("hetsched/"):
        target = target.removeprefix("hetsched/")
    else:
        return check_foreign(name, target)

    if not (root / target).is_file():
        return f"hetsched/{target} does not exist"
    own, other = row_of(name), row_of(target)
    if other is None:
        return None  # reported for that file itself
    if other == TOP and own != TOP:
        return f"a header in a folder never includes {target}, which is for users"
    if other > own:
        return f"{ROOMS[own][0]} includes {target}, which is of a later row of the table"
    if is_in(name, ENGINES) and is_in(target, ["policies/", "detail/policies/", "testing/"]):
        return f"the runtime and the engines never include {target.split('/')[0]}/: {target}"
    if is_in(name, ["policies/"]) and is_in(target, ["testing/"]):
        return f"a policy never includes testing/: {target}"
    if is_in(name, ["policies/schedulers/"]) and is_in(target, ["policies/"]):
        if not is_in(target, ["policies/queues/"]):
            return f"a scheduler includes no policy but queues: {target}"
    return None


def check_foreign(name, target):
    if BANNED.fullmatch(target):
        return f"<{target}> is banned under include/"
    for pattern, places in HOMES:
        if pattern.fullmatch(target) and not is_in(name, places):
            return f"<{target}> belongs only in {' and '.join(places)}"
    if is_in(name, ["policies/schedulers/"]) and SCHEDULER_BANNED_INCLUDES.fullmatch(target):
        return f"a scheduler never includes <{target}>"
    return None


def check_file(root, name):
    """Yields (line, what is wrong)."""
    if row_of(name) is None:
        yield 1, "is in no folder of the table in tests/tree/layers.py"
        return
    text = without_comments((root / name).read_text(encoding="utf-8"))
    for match in INCLUDE.finditer(text):
        wrong = check_include(root, name, match.group(1), match.group(2))
        if wrong:
            yield line_of(text, match.start()), wrong
    if is_in(name, ["policies/schedulers/"]):
        code = NOT_CODE.sub('""', INCLUDE.sub("", text))
        for match in SCHEDULER_BANNED_WORDS.finditer(code):
            yield line_of(code, match.start()), f"a scheduler never uses {match.group()}"
    if not is_in(name, UNSEEN_ALLOWED):
        code = NOT_CODE.sub('""', INCLUDE.sub("", text))
        for match in UNSEEN.finditer(code):
            yield line_of(code, match.start()), f"{match.group()} has another name in detail/core"


def headers_of(root, first):
    """The headers of ours that one includes, and those that they include: name to text."""
    texts, waiting = {}, [first]
    while waiting:
        name = waiting.pop()
        if name in texts or not (root / name).is_file():
            continue
        texts[name] = without_comments((root / name).read_text(encoding="utf-8"))
        for match in INCLUDE.finditer(texts[name]):
            target = match.group(2)
            beside = PurePosixPath(name).parent / target
            waiting.append(beside.as_posix() if match.group(1) == '"' else target.removeprefix("hetsched/"))
    return texts


def check_weight(root):
    """Yields (header, line, what is wrong)."""
    for name, text in sorted(headers_of(root, "hetsched.hpp").items()):
        for match in INCLUDE.finditer(text):
            if HEAVY.fullmatch(match.group(2)):
                yield name, line_of(text, match.start()), f"<{match.group(2)}> weighs on every program"


def shown_rooms(page):
    """The rows of the table that a page shows below the line that names this file."""
    rows = re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [(folders.replace("`", ""), what) for folders, what in rows]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    names = sorted(p.relative_to(root).as_posix() for p in root.rglob("*.hpp"))
    failures = [(n, line, wrong) for n in names for line, wrong in check_file(root, n)]
    failures += check_weight(root)
    for name, line, wrong in failures:
        print(f"include/hetsched/{name}:{line}: {wrong}")
    stale = [folder for folder in FOLDERS if not (root / folder).is_dir()]
    for folder in stale:
        print(f"include/hetsched/{folder} does not exist: the table names it")
    missing = []
    if len(sys.argv) == 3:
        shown = shown_rooms(Path(sys.argv[2]))
        missing = [room for room in ROOMS if room not in shown]
        for folders, what in missing:
            print(f"{sys.argv[2]}: its map lacks the row | {folders} | {what} |")
    print(f"{len(names)} headers, {len(failures) + len(stale) + len(missing)} violations")
    return 1 if failures or stale or missing or not names else 0


if __name__ == "__main__":
    sys.exit(main())
