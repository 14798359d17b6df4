#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the files under include/hetsched may include.

A file includes its own layer or a lower one; the layers are the table below. The runtime and the
engines never include a policy, and a scheduler includes no policy but queues: they meet only in
user code. Some headers are banned, or have one home.

Usage: layers.py FOLDER      (include/hetsched)
"""

import re
import sys
from pathlib import Path, PurePosixPath

# First match wins.
LAYERS = [
    (0, ["fwd.hpp", "types.hpp", "time.hpp", "access.hpp", "error.hpp", "version.hpp",
         "device_code.hpp"]),
    (0, ["detail/assert.hpp", "detail/array.hpp"]),
    (1, ["platform.hpp", "platform_model.hpp", "simulation.hpp", "task.hpp", "explanation.hpp", "task_graph.hpp", "bottom_levels.hpp", "named_graph.hpp", "data.hpp", "stats.hpp", "config.hpp", "trace.hpp"]),
    (1, ["trace_idle.hpp", "trace_path.hpp", "trace_times.hpp", "trace_series.hpp",
         "detail/time_pieces.hpp", "detail/trace_boxes.hpp", "trace_chrome.hpp", "trace_csv.hpp", "trace_dot.hpp", "trace_paje.hpp", "trace_export.hpp"]),
    (1, ["bounds.hpp", "area_shares.hpp", "independent_tasks.hpp", "dual_approx_2.hpp", "dual_approx_43.hpp", "accel_32.hpp", "detail/allotment_knapsack.hpp"]),
    (1, ["static_plan.hpp", "static_heft.hpp", "allocation.hpp"]),
    (1, ["gpu_stream.hpp"]),
    (1, ["detail/text_file.hpp", "detail/json_text.hpp", "trace_text.hpp", "trace_graph.hpp", "detail/trace_columns.hpp", "detail/trace_tree.hpp", "detail/trace_reader.hpp", "trace_json.hpp", "detail/json_file.hpp", "platform_json.hpp", "static_plan_json.hpp"]),
    (2, ["concepts/", "detail/block_table.hpp", "detail/ranked_blocks.hpp", "detail/stealing_queues.hpp", "detail/victims.hpp",
         "detail/affinity_plan.hpp", "detail/affinity_types.hpp", "detail/dual_approximation.hpp", "detail/earliest_finish.hpp", "detail/heft_forecast.hpp",
         "detail/plan_search.hpp", "detail/random_stream.hpp",
         "detail/task_table.hpp", "detail/spin_lock.hpp", "detail/ratio_of_times.hpp"]),
    (3, ["policies/schedulers/", "policies/queues/", "policies/caches/", "policies/perf_models/"]),
    (3, ["detail/model_files.hpp"]),
    (3, ["testing/"]),
    (4, ["detail/"]),
    (4, ["handle.hpp", "team.hpp", "partition.hpp", "lambda.hpp", "group.hpp", "captured_graph.hpp"]),
    (5, ["runtime.hpp", "simulated_runtime.hpp"]),
    (6, ["hetsched.hpp", "linalg/", "stencil/", "cholesky_bound.hpp", "linear_bounds.hpp", "random_graphs.hpp", "static_search.hpp", "static_solver.hpp", "graph_json.hpp", "graph_dot.hpp", "hwloc.hpp", "gpu.hpp",
         "gpu_blas.hpp", "recording.hpp", "progress.hpp", "portfolio.hpp", "hetero_prio_lookahead.hpp", "cuda/"]),
]

BANNED = re.compile(
    r"iostream|regex|future|ranges|random|format|source_location|(cuda|cublas|cusolver).*"
)

# Headers with one home: what is included, and the only places that may.
HOMES = [
    (re.compile(r"chrono"), ["detail/thread_engine.hpp", "progress.hpp"]),
    (re.compile(r"boost/.*"), ["detail/mailbox.hpp", "policies/queues/mailbox.hpp"]),
    (re.compile(r"(Eigen|unsupported)/.*|(cblas|lapacke|lapack|openblas_config)\.h"), ["linalg/"]),
    (re.compile(r"hwloc.*"), ["hwloc.hpp"]),
    (re.compile(r"coin/.*"), ["linear_bounds.hpp"]),
    (re.compile(r"gecode/.*"), ["detail/plan_space.hpp", "static_solver.hpp"]),
    (re.compile(r"nlohmann/.*"), ["detail/json_file.hpp", "detail/model_files.hpp", "graph_json.hpp", "static_plan_json.hpp", "detail/trace_tree.hpp", "detail/trace_reader.hpp", "trace_json.hpp"]),
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

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

# Comments, string and character literals: a literal's place keeps its quotes, so that an include's
# name survives in neither; includes are read before. (?<!\w)' leaves digit separators alone.
NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])*'", re.DOTALL
)


def is_in(name, places):
    return any(name.startswith(p) if p.endswith("/") else name == p for p in places)


def layer_of(name):
    for layer, places in LAYERS:
        if is_in(name, places):
            return layer
    return None


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
    own, other = layer_of(name), layer_of(target)
    if other is None:
        return None  # reported for that file itself
    if other > own:
        return f"layer {own} includes {target} of layer {other}"
    if own in (4, 5) and is_in(target, ["policies/", "testing/"]):
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
    if layer_of(name) is None:
        yield 1, "is in no layer: add it to the table in tests/layers.py"
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    names = sorted(p.relative_to(root).as_posix() for p in root.rglob("*.hpp"))
    failures = [(n, line, wrong) for n in names for line, wrong in check_file(root, n)]
    for name, line, wrong in failures:
        print(f"include/hetsched/{name}:{line}: {wrong}")
    print(f"{len(names)} headers, {len(failures)} violations")
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main())
