#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants defects in copies of the headers, one at a time, and counts the interleavings until each is found.

Usage: plant.py BUILD_FOLDER [DEFECT]...      (all; CXX: the compiler, clang++-19; builds in BUILD_FOLDER/planted)
       plant.py --places                      only looks whether each defect's place is there, once
Fails if a defect is not found within 100,000 interleavings, or if its place is no longer there.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT = 100000
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ONCE = ["main", "no_any_programs", "own_memory"]
EACH = ["runtime_programs", "queue_programs", "coroutine_programs", "algorithm_programs",
        "sender_programs", "stolen_programs"]  # with the defect
EMULATION = [*sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "cuda" / "set").glob("*.cpp")),
             *(f"cuda/emulated/{name}.cpp" for name in ("arguments", "blas", "device", "driver", "options", "stream",
                                                        "streams", "kernels_none", "kernels_no_lapack")),
             "cuda/last_error.cpp", "cuda/cuda/no_driver.cpp"]

# Name, and what is replaced: a file, what is there once, and what takes its place.
DEFECTS = [
    ("wake-up dropped", [
        ("include/hetsched/detail/threads/parking.hpp",
         "    raised.notify_one();\n",
         ""),
    ]),
    ("wake-up for a pushed task dropped", [
        ("include/hetsched/detail/threads/waiting_inl.hpp",
         "waiting_.parking.unpark(worker, WakeReason::task);\n"
         "    return woken;",
         "false;\n"
         "    return woken;"),
    ]),
    ("no look for tasks between announcing sleep and sleep", [
        ("include/hetsched/detail/threads/waiting_inl.hpp",
         "    parking.announce(id);\n"
         "    found = take(worker);",
         "    parking.announce(id);\n"
         "    found = no_task;"),
    ]),
    ("no look at the condition between announcing sleep and sleep", [
        ("include/hetsched/detail/threads/waiting_inl.hpp",
         "if (found || has_attempt() || done()) {",
         "if (found || has_attempt()) {"),
    ]),
    ("looks for tasks, then announces sleep", [
        ("include/hetsched/detail/threads/waiting_inl.hpp",
         "    parking.announce(id);\n"
         "    found = take(worker);",
         "    found = take(worker);\n"
         "    parking.announce(id);"),
    ]),
    ("drain: the last to sleep tells nobody", [
        ("include/hetsched/detail/threads/waiting_inl.hpp",
         "waiting_.drain_waiters.load(std::memory_order_relaxed) > 0 && quiescent()",
         "false"),
    ]),
    ("a seat that others want is left without telling them", [
        ("include/hetsched/detail/threads/thread_state.hpp",
         "std::memory_order_acq_rel) == Seat::wanted) {\n"
         "      notify_outside();\n"
         "    }",
         "std::memory_order_acq_rel) == Seat::wanted) {\n"
         "    }"),
    ]),
    ("outside threads are told before the event is counted", [
        ("include/hetsched/detail/threads/waiting_inl.hpp",
         "    events_.fetch_add(1, std::memory_order_acq_rel);\n"
         "    events_.notify_all();",
         "    events_.notify_all();\n"
         "    events_.fetch_add(1, std::memory_order_acq_rel);"),
    ]),
    ("deque: the new end is published before its task", [
        ("include/hetsched/policies/queues/work_stealing_deque.hpp",
         "    ring->slot(bottom).store(task.value, std::memory_order_relaxed);\n",
         "    bottom_.store(bottom + 1);\n"
         "    ring->slot(bottom).store(task.value, std::memory_order_relaxed);\n"),
    ]),
    ("deque: a thief takes without comparing", [
        ("include/hetsched/policies/queues/work_stealing_deque.hpp",
         "if (top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) {\n"
         "        contested_",
         "top_.store(top + 1);\n"
         "      {\n"
         "        contested_"),
    ]),
    ("deque: the owner takes the last task without comparing", [
        ("include/hetsched/policies/queues/work_stealing_deque.hpp",
         "top == last && top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);",
         "top == last;"),
    ]),
    ("deque: the owner looks at the thieves' end before it takes", [
        ("include/hetsched/policies/queues/work_stealing_deque.hpp",
         "    bottom_.store(last, std::memory_order_seq_cst); // before the look at top: both are seq_cst\n"
         "    auto top = top_.load(std::memory_order_seq_cst);",
         "    auto top = top_.load(std::memory_order_seq_cst);\n"
         "    bottom_.store(last, std::memory_order_seq_cst);"),
    ]),
    ("locked deque: takes without the lock", [
        ("include/hetsched/policies/queues/locked_deque.hpp",
         "[[gnu::noinline]] TaskId newest(Accept& accept) {\n"
         "    std::lock_guard const guard(mutex_);",
         "[[gnu::noinline]] TaskId newest(Accept& accept) {"),
    ]),
    ("a body that waits has any task on top of it", [
        ("include/hetsched/detail/threads/stand_ins_inl.hpp",
         "  if (!done.in_body ||",
         "  if (done.in_body || !done.in_body ||"),
    ]),
    ("a completed task is counted before its group is told", [
        ("include/hetsched/detail/threads/task_execution.hpp",
         "  if (group != nullptr) [[unlikely]] {\n"
         "    leave_group(*group);\n"
         "  }\n"
         "  TaskRecord* completed_parent = nullptr;",
         "  worker.counts.completed.add();\n"
         "  if (group != nullptr) [[unlikely]] {\n"
         "    leave_group(*group);\n"
         "  }\n"
         "  TaskRecord* completed_parent = nullptr;"),
    ]),
    ("a task on the host reads what is lost", [
        ("cuda/set/transfers.cpp",
         "  acquire(lock, task, false, missing);\n"
         "  report(missing);",
         "  acquire(lock, task, false, missing);"),
    ]),
    ("a lost part is joined", [
        ("include/hetsched/detail/dataflow/partitions.hpp",
         "if (auto lost = take_parts_home(join); lost != nullptr) {",
         "if (auto lost = take_parts_home(join); lost != nullptr && host.divisions() == nullptr) {"),
    ]),
    ("what is lost is partitioned", [
        ("include/hetsched/detail/dataflow/partitions.hpp",
         "    poisoned = true;\n"
         "    host.fail(holder, std::current_exception());",
         ""),
    ]),
    ("each sync tells a loss again", [
        ("include/hetsched/detail/memory/bringing.hpp",
         "    if (datum.lost && datum.writers == 0) {\n"
         "      nodes_->program_takes(datum, at);\n"
         "    }",
         ""),
    ]),
    ("a sync that throws brings nothing home", [
        ("include/hetsched/runtime/base_runtime.hpp",
         "    std::exception_ptr lost; // what could not be had from its device\n",
         "    if (domain != nullptr) {\n"
         "      rethrow(*domain);\n"
         "    }\n"
         "    std::exception_ptr lost;\n"),
    ]),
    ("a task alone is refused if its own places are in the way", [
        ("include/hetsched/detail/memory/memory_admission.hpp",
         "      if (!reserve(at, needs)) {\n"
         "        missing_",
         "      {\n"
         "        missing_"),
    ]),
    ("a lost device's worker takes tasks", [
        ("include/hetsched/detail/threads/thread_core_inl.hpp",
         "    return takes_though_lost(task, worker);",
         "    return true;"),
    ]),
    ("a device falls asleep over what is offered to it", [
        ("include/hetsched/detail/threads/device_driver.hpp",
         "worker_.mail.there.load(std::memory_order_seq_cst) || worker_.launched.offers.any();",
         "worker_.mail.there.load(std::memory_order_seq_cst);"),
    ]),
    ("what is offered to a lost device stays there", [
        ("include/hetsched/detail/threads/device_ahead.hpp",
         "    for (auto const id : offers().take()) {\n"
         "      drop(id);\n"
         "    }",
         "    (void)offers().take();"),
    ]),
    ("the end of a body does not keep a part while it is merged", [
        ("include/hetsched/detail/dataflow/reductions.hpp",
         "    bool const kept = queue->data->retain();",
         "    bool const kept = true;"),
        ("include/hetsched/detail/dataflow/reductions.hpp",
         "    release_record(data);\n"
         "  }\n"
         "  return merges;",
         "  }\n"
         "  return merges;"),
    ]),
    ("a last handle waits for the task whose body drops it", [
        ("include/hetsched/runtime/runtime_data.hpp",
         "    bool const waits = task == nullptr || (!Core::in_virtual_time && !detail::uses(task, record));",
         "    bool const waits = true;"),
    ]),
    ("a failed series leaves its copies", [
        ("include/hetsched/detail/dataflow/outcomes.hpp",
         "  return task.cancelled && task.type_of().kind != TaskKind::merge;",
         "  return task.cancelled;"),
    ]),
    ("the end of a transfer that a lost device refuses to mark counts as good", [
        ("cuda/emulated/streams.cpp",
         "    auto record = status == hs_ok ? on.record() : std::make_shared<Record>();\n"
         "    if (status == hs_lost) {",
         "    auto record = on.record();\n"
         "    if (false) {"),
        ("cuda/set/open_device.cpp",
         "  return ended == hs_ok && marked == hs_lost ? hs_lost : ended;",
         "  return ended;"),
    ]),
    ("a suspended body goes on before it has left its worker", [
        ("include/hetsched/detail/threads/thread_host_inl.hpp",
         "    if (!suspension->arrive()) {\n"
         "      return;\n"
         "    }",
         "    if (suspension->is_over()) {\n"
         "      return;\n"
         "    }"),
    ]),
    ("a body counts as waiting for a group before it is in the list of those", [
        ("include/hetsched/detail/threads/suspending.hpp",
         "  group.state.fetch_add(GroupState::one_waiter, std::memory_order_acq_rel);\n"
         "  if (!group.empty()) {\n"
         "    return true;\n"
         "  }\n",
         "  if (true) {\n"
         "    return true;\n"
         "  }\n"),
        ("include/hetsched/detail/threads/suspending.hpp",
         "  suspension.group = &group;\n"
         "  {\n",
         "  suspension.group = &group;\n"
         "  group.state.fetch_add(GroupState::one_waiter, std::memory_order_acq_rel);\n"
         "  if (group.empty()) {\n"
         "    return false;\n"
         "  }\n"
         "  {\n"),
    ]),
    ("a run leaves a join before those that wait for it are away", [
        ("include/hetsched/detail/coroutines/coroutine_run.hpp",
         "    leave_to_others(join); // before the others can know\n"
         "    if (join.others.fetch_sub(1, std::memory_order_acq_rel) != 1) {\n",
         "    bool const last = join.others.fetch_sub(1, std::memory_order_acq_rel) == 1;\n"
         "    leave_to_others(join);\n"
         "    if (!last) {\n"),
    ]),
    ("replayed: nobody waits until the holder has the data", [
        ("include/hetsched/detail/threads/replay_inl.hpp",
         "  if (!granted()) {",
         "  if (false && !granted()) {"),
    ]),
    ("replayed: a task counts down by a load and a store", [
        ("include/hetsched/detail/threads/replay_inl.hpp",
         "next->pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {",
         "(next->pending.store(next->pending.load() - 1), next->pending.load() == 0)) {"),
    ]),
    ("pipeline: an item is kept although its turn has come", [
        ("include/hetsched/detail/algorithms/pipeline_places.hpp",
         "      return true;\n"
         "    }\n"
         "    at.store(nullptr, std::memory_order_relaxed);\n"
         "    return false;",
         "      return true;\n"
         "    }\n"
         "    return true;"),
    ]),
    ("pipeline: who has left the source calls no help", [
        ("include/hetsched/detail/algorithms/pipeline_flow.hpp",
         "    source_.leave();\n"
         "    call_help();",
         "    source_.leave();"),
    ]),
    ("pipeline: a helper ends without a last look", [
        ("include/hetsched/detail/algorithms/pipeline_flow.hpp",
         "    auto const found = find();\n"
         "    if (found.place != nullptr) {\n"
         "      helpers_",
         "    auto const found = PipelineStep();\n"
         "    if (found.place != nullptr) {\n"
         "      helpers_"),
    ]),
    ("pipeline: closed while a helper is at work", [
        ("include/hetsched/detail/algorithms/shared_work.hpp",
         "    while (entered_.load(std::memory_order_acquire) != closing) {",
         "    while (entered_.load(std::memory_order_acquire) == 0) {"),
    ]),
    ("senders: who waits does not wait for who completed", [
        ("include/hetsched/runtime/sender_waits.hpp",
         "    while (!left_.load(std::memory_order_acquire)) {",
         "    while (false) {"),
    ]),
    ("senders: who completes tells nobody", [
        ("include/hetsched/runtime/sender_waits.hpp",
         "    Suspensions::leave_group(rt_.engine(), group_.state());",
         "    group_.state().state.fetch_sub(1, std::memory_order_acq_rel);"),
    ]),
    ("stolen: the task that runs is not registered", [
        ("include/hetsched/detail/threads/backlog_hand_over_inl.hpp",
         "[[maybe_unused]] bool const held = enqueue(*backlog.running);",
         "[[maybe_unused]] bool const held = true;"),
    ]),
    ("stolen: a parent with children left is taken for complete", [
        ("include/hetsched/detail/threads/backlog_run_inl.hpp",
         "task.children_left() != 0 && !try_to_hand_over(backlog)",
         "false"),
    ]),
    ("stolen: what a failed task should have written is not spoilt", [
        ("include/hetsched/detail/threads/backlog_run_inl.hpp",
         "if (!backlog.spoilt && try_to_hand_over(backlog)) {",
         "if (false) {"),
        ("include/hetsched/detail/threads/backlog_run_inl.hpp",
         "    backlog.spoilt = true;\n"
         "    backlog.parent.failed = true;\n",
         ""),
    ]),
    ("stolen: parts stay open until their join is registered", [
        ("include/hetsched/detail/threads/backlog_spawn_inl.hpp",
         "access.queue->closed.store(true, std::memory_order_relaxed);",
         ";"),
    ]),
    ("stolen: a wait for a datum comes before tasks that are postponed", [
        ("include/hetsched/detail/threads/thread_host.hpp",
         "      backlogs->hand_over_own(core, what == Registers::tasks);\n",
         ""),
    ]),
    ("stolen: a datum is not in use by tasks that are postponed", [
        ("include/hetsched/detail/dataflow/data_record.hpp",
         "            postponed.load(std::memory_order_acquire) != 0);",
         "            false);"),
    ]),
    ("stolen: the last handle does not wait for what another thread has postponed", [
        ("include/hetsched/detail/threads/waiting_inl.hpp",
         "      backlogs->await_owner(queue);\n",
         ""),
    ]),
]


def compile_source(compiler, tree, source, target):
    subprocess.run([compiler, "-std=c++20", "-O1", "-gline-tables-only", "-DHETSCHED_CONTROLLED", f"-I{tree / 'include'}",
                    "-c", source, "-o", target], check=True)


def find(name, program):
    """Whether the program finds the defect: first in all interleavings with one preemption, then in random ones."""
    tried = 0
    for options in (["--preemptions", "1", "--runs", "5000"], ["--runs", str(LIMIT // 2)]):
        run = subprocess.run([program, *options], capture_output=True, text=True, check=False, errors="replace")
        lines = run.stdout.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("FAILED"):
                after = int(re.search(r"after (\d+)", line)[1])
                where = re.search(r"interleavings '(.*?)'", line)[1]
                signal = re.search(r"signal \d+", line)
                print(f"found  {name}: {tried + after}, '{where}' ({' '.join(options[:-2]) or 'random'}): "
                      f"{signal[0] if signal else lines[number + 1]}", flush=True)
                return True
        tried += int(re.match(r"\d+", lines[-1])[0])
    print(f"MISSED {name}: {tried} interleavings", flush=True)
    return False


def check_places():
    for name, changes in DEFECTS:
        for file, old, _ in changes:
            if (count := (ROOT / file).read_text(encoding="utf-8").count(old)) != 1:
                sys.exit(f"plant: {name}: its place in {file} is there {count} times")
    print(f"{len(DEFECTS)} defects have their places")


def main():
    check_places()
    if sys.argv[1:] == ["--places"]:
        return 0
    build = Path(sys.argv[1]) / "planted"
    compiler = os.environ.get("CXX", "clang++-19")
    wanted = sys.argv[2:]
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    objects = {}
    for source in [*(f"tests/interleavings/{name}.cpp" for name in ONCE), *EMULATION]:
        objects[source] = build / (source.replace("/", "_") + ".o")
        compile_source(compiler, ROOT, ROOT / source, objects[source])
    missed = 0
    for name, changes in DEFECTS:
        if wanted and name not in wanted:
            continue
        tree = build / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        for folder in ("include", "cuda"):
            shutil.copytree(ROOT / folder, tree / folder)
        for file, old, new in changes:
            text = (tree / file).read_text(encoding="utf-8")
            (tree / file).write_text(text.replace(old, new), encoding="utf-8")
        # The sources with the defect come first: of several copies of an inline function the linker takes the first.
        planted = {name: HERE / f"{name}.cpp" for name in EACH}
        changed = {file for file, _, _ in changes}
        for source in EMULATION:
            of_devices = any("/memory/" in file or "/threads/device" in file for file in changed)
            if source in changed or (source.startswith("cuda/set/") and of_devices):
                planted[source] = tree / source
        built = {}
        for source, path in planted.items():
            built[source] = build / ("planted_" + source.replace("/", "_") + ".o")
            compile_source(compiler, tree, path, built[source])
        program = build / "interleavings"
        subprocess.run([compiler, *built.values(), *(object for source, object in objects.items() if source not in built),
                        "-o", program], check=True)
        missed += not find(name, program)
    return 1 if missed else 0


sys.exit(main())
