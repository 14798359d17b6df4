// SPDX-License-Identifier: MIT
#pragma once
// Fakes for the concepts of engines and their hosts. Each complete fake satisfies its concept, and
// for each thing that the concept asks for there is a fake that lacks it. Nothing here is called.

#include <hetsched/detail/engine/engine_concepts.hpp>

namespace fake {

namespace hs = hetsched::detail;

/// A fake like Base whose `member` cannot be called does not satisfy the concept.
#define HETSCHED_TEST_LACKS(Concept, Base, member)                                                 \
  namespace Concept##_fakes {                                                                      \
    struct Without_##member : Base {                                                               \
      int member;                                                                                  \
    };                                                                                             \
    static_assert(!hs::Concept<Without_##member>, "a fake lacks " #member);                        \
  }                                                                                                \
  static_assert(true)

/// All that task_host asks for.
struct TaskHost {
  void ready(hs::TaskRecord&);
  void wait_granted(hs::TaskRecord&);
  void give_to_device(hs::TaskRecord&);
  void prepare_merge(hs::AccessQueue&);
  hs::TaskRecord& new_merge(hs::AccessQueue&, hs::ReductionOps const&);
  void fail(hs::TaskRecord&, std::exception_ptr const&);
  void recycle(hs::TaskRecord&);
  hs::Divisions*& divisions();
};

static_assert(hs::task_host<TaskHost> && !hs::spawn_host<TaskHost>);
HETSCHED_TEST_LACKS(task_host, TaskHost, ready);
HETSCHED_TEST_LACKS(task_host, TaskHost, wait_granted);
HETSCHED_TEST_LACKS(task_host, TaskHost, give_to_device);
HETSCHED_TEST_LACKS(task_host, TaskHost, prepare_merge);
HETSCHED_TEST_LACKS(task_host, TaskHost, new_merge);
HETSCHED_TEST_LACKS(task_host, TaskHost, fail);
HETSCHED_TEST_LACKS(task_host, TaskHost, recycle);
HETSCHED_TEST_LACKS(task_host, TaskHost, divisions);

/// All that spawn_host asks for.
struct SpawnHost : TaskHost {
  hs::TaskRecord* spawner() const;
  hs::TaskRecord* allocate(std::size_t);
  void start_record(hs::TaskRecord&,
                    hs::TaskType const&,
                    hs::TaskRecord*,
                    hs::Attributes const& attributes = {});
  void count_spawn(hs::TaskRecord&);
  void uncount_spawn(hs::TaskRecord&);
  void count_hint(hs::TaskRecord&);
  void uncount_hint(hs::TaskRecord&);
  void note_spawn(hs::TaskRecord&);
  void note_end(hs::TaskRecord&);
  void note_division(hs::PartitionState const&, bool);
};

static_assert(hs::task_host<SpawnHost> && hs::spawn_host<SpawnHost>);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, ready);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, spawner);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, allocate);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, start_record);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, count_spawn);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, uncount_spawn);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, count_hint);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, uncount_hint);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, note_spawn);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, note_end);
HETSCHED_TEST_LACKS(spawn_host, SpawnHost, note_division);

struct NoAttributes : SpawnHost {
  void start_record(hs::TaskRecord&, hs::TaskType const&, hs::TaskRecord*);
};

static_assert(!hs::spawn_host<NoAttributes>);

/// All that answers_contexts asks for.
struct Answers {
  hetsched::Instant clock() const;
  std::span<hetsched::WorkerInfo const> workers() const;
  std::span<hetsched::NodeInfo const> nodes() const;
  bool all_everywhere() const;
  bool can_run(hs::TaskRecord const&, hetsched::WorkerId) const;
  bool can_abort(hs::TaskRecord const&) const;
  std::uint64_t random(hetsched::WorkerId) const;
  std::optional<hetsched::Prediction> predicted(hs::TaskRecord const&,
                                                hetsched::WorkerInfo const&) const;
  hetsched::Duration transfer(std::size_t, hetsched::NodeId, hetsched::NodeId) const;
  hetsched::TaskId running(hetsched::WorkerId) const;
  hetsched::Instant busy_until(hetsched::WorkerId) const;
  std::size_t free_bytes(hetsched::NodeId) const;
  hs::Explainer& explainer() const;
};

static_assert(hs::answers_contexts<Answers> && !hs::takes_spawns<Answers>);
HETSCHED_TEST_LACKS(answers_contexts, Answers, clock);
HETSCHED_TEST_LACKS(answers_contexts, Answers, workers);
HETSCHED_TEST_LACKS(answers_contexts, Answers, nodes);
HETSCHED_TEST_LACKS(answers_contexts, Answers, all_everywhere);
HETSCHED_TEST_LACKS(answers_contexts, Answers, can_run);
HETSCHED_TEST_LACKS(answers_contexts, Answers, can_abort);
HETSCHED_TEST_LACKS(answers_contexts, Answers, random);
HETSCHED_TEST_LACKS(answers_contexts, Answers, predicted);
HETSCHED_TEST_LACKS(answers_contexts, Answers, transfer);
HETSCHED_TEST_LACKS(answers_contexts, Answers, running);
HETSCHED_TEST_LACKS(answers_contexts, Answers, busy_until);
HETSCHED_TEST_LACKS(answers_contexts, Answers, free_bytes);
HETSCHED_TEST_LACKS(answers_contexts, Answers, explainer);

template <class HostOfSpawner>
struct SpawnerOf {
  template <class Core>
  SpawnerOf(Core&, hs::Registers);
  HostOfSpawner& host();
};

/// All that takes_spawns asks for, if these two fit.
template <class H, class S>
struct SpawnsOf {
  using Host = H;
  using Spawner = S;

  hs::TaskRecord* current_task() const;
  hs::Domain& current_domain() const;
  bool has_worker_of(hetsched::ArchMask) const;
  hetsched::ArchMask archs_of(hs::TaskType const&);
  std::optional<hetsched::Prediction>
  predicted(hs::TaskType const&, hetsched::TaskView const&, hetsched::Arch) const;
  int* devices() const;
};

using Spawns = SpawnsOf<SpawnHost, SpawnerOf<SpawnHost>>;

static_assert(hs::takes_spawns<Spawns> && !hs::answers_contexts<Spawns>);
HETSCHED_TEST_LACKS(takes_spawns, Spawns, current_task);
HETSCHED_TEST_LACKS(takes_spawns, Spawns, current_domain);
HETSCHED_TEST_LACKS(takes_spawns, Spawns, has_worker_of);
HETSCHED_TEST_LACKS(takes_spawns, Spawns, archs_of);
HETSCHED_TEST_LACKS(takes_spawns, Spawns, predicted);
HETSCHED_TEST_LACKS(takes_spawns, Spawns, devices);

struct SpawnerOfNoCore {
  SpawnHost& host();
};

static_assert(!hs::takes_spawns<SpawnsOf<TaskHost, SpawnerOf<TaskHost>>>,
              "the host makes no tasks");
static_assert(!hs::takes_spawns<SpawnsOf<SpawnHost, SpawnerOf<TaskHost>>>, "another host");
static_assert(!hs::takes_spawns<SpawnsOf<SpawnHost, SpawnerOfNoCore>>, "no spawner for the core");

/// All that engine asks for.
struct Engine : Answers, Spawns {
  using Answers::predicted;
  using Spawns::predicted;
  using Context = int;
  static constexpr bool in_virtual_time = true;

  hs::Domain& root_domain();
  void drain();
  void await_children(hs::TaskRecord&);
  void await_group(hs::GroupState&);
  std::exception_ptr await_data(hs::AccessQueue&, hs::TaskRecord*);
  void take_all_home(hs::Domain const*, hs::TaskRecord*);
  hs::FailureLog& failure_log();
  hetsched::Stats stats() const;
  void reset_stats();
  std::string dump(hs::DataRegistry&) const;
  hs::Recorder* recorder() const;
  hs::DataObserver* observer() const;
  hs::PolicyPort& policies() const;
};

static_assert(hs::answers_contexts<Engine> && hs::takes_spawns<Engine> && hs::engine<Engine>);
HETSCHED_TEST_LACKS(engine, Engine, clock);
HETSCHED_TEST_LACKS(engine, Engine, current_task);
HETSCHED_TEST_LACKS(engine, Engine, root_domain);
HETSCHED_TEST_LACKS(engine, Engine, drain);
HETSCHED_TEST_LACKS(engine, Engine, await_children);
HETSCHED_TEST_LACKS(engine, Engine, await_group);
HETSCHED_TEST_LACKS(engine, Engine, await_data);
HETSCHED_TEST_LACKS(engine, Engine, take_all_home);
HETSCHED_TEST_LACKS(engine, Engine, failure_log);
HETSCHED_TEST_LACKS(engine, Engine, stats);
HETSCHED_TEST_LACKS(engine, Engine, reset_stats);
HETSCHED_TEST_LACKS(engine, Engine, dump);
HETSCHED_TEST_LACKS(engine, Engine, recorder);
HETSCHED_TEST_LACKS(engine, Engine, policies);

struct Timeless : Engine {
  static constexpr int in_virtual_time = 1;
};

static_assert(!hs::engine<Timeless>);

class Contextless : public Engine {
  using Context = int; // private
};

static_assert(!hs::engine<Contextless>);

#undef HETSCHED_TEST_LACKS

} // namespace fake
