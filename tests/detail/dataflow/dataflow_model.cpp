// SPDX-License-Identifier: MIT
// What happens in the model.

#include "dataflow_model.hpp"

#include <hetsched/detail/dataflow/task_host.hpp>
#include <hetsched/detail/spawn/spawn.hpp>

#include <exception>
#include <map>
#include <memory>
#include <new>
#include <utility>

namespace dataflow_model {

namespace {

using hs::AccessMode;
using hs::detail::Access;
using hs::detail::AttemptFunctions;
using hs::detail::Attributes;
using hs::detail::Failure;
using hs::detail::laid_out;
using hs::detail::Owned;
using hs::detail::SizeClass;
using hs::detail::TaskKind;

// ---- task types ----

void fill_neutral(void* into, std::size_t count) {
  std::fill_n(static_cast<std::int64_t*>(into), count, 0);
}

void combine(void* into, hs::detail::Shape const& shape, void const* dense) {
  for (std::size_t k = 0; k < shape.rows; ++k) {
    static_cast<std::int64_t*>(into)[k] += static_cast<std::int64_t const*>(dense)[k];
  }
}

// Not the same operator, though they do the same.
constexpr ReductionOps sum{&fill_neutral, &combine};
constexpr ReductionOps other_sum{&fill_neutral, &combine};

constexpr TaskType merge_type =
    laid_out({"merge", TaskKind::merge, {}, {}, nullptr, nullptr, nullptr}, false);

hs::detail::ParameterInfo info_of(Mode mode) {
  switch (mode) {
  case Mode::R:
    return {AccessMode::read, nullptr};
  case Mode::W:
    return {AccessMode::write, nullptr};
  case Mode::X:
    return {AccessMode::read_write, nullptr};
  case Mode::C:
    return {AccessMode::commute, nullptr};
  case Mode::K:
    return {AccessMode::reduce, &sum};
  case Mode::L:
    return {AccessMode::reduce, &other_sum};
  }
  return {};
}

/// The failure of every task. Its memory is not put back as it was, so its references cannot be
/// counted: there are always more than are used.
std::exception_ptr const& boom() {
  static std::exception_ptr const one = std::make_exception_ptr(1);
  return one;
}

void keep_boom() {
  alignas(std::exception_ptr) static std::array<std::byte, sizeof(std::exception_ptr)> nobody;
  new (nobody.data()) std::exception_ptr(boom());
}

/// Values are counted up to this.
constexpr std::int64_t modulus = 4;

} // namespace

Shape const& shape_of(std::string const& modes) {
  static std::map<std::string, std::unique_ptr<Shape>> shapes;
  auto& shape = shapes[modes];
  if (shape == nullptr) {
    shape = std::make_unique<Shape>();
    for (auto const letter : modes) {
      shape->modes.push_back(static_cast<Mode>(std::string("RWXCKL").find(letter)));
      shape->parameters[shape->modes.size() - 1] = info_of(shape->modes.back());
    }
    TaskType type{"user", TaskKind::user, hs::ArchMask{0xff}, {}, nullptr, nullptr, nullptr};
    type.parameters = std::span(shape->parameters.data(), modes.size());
    shape->type = laid_out(type, false);
  }
  return *shape;
}

// ---- as whom the dataflow layer is called ----

class Model::Host {
public:
  Host(Model& model, TaskRecord* spawner) : model_(model), spawner_(spawner) {}

  [[nodiscard]] TaskRecord* spawner() const { return spawner_; }

  [[nodiscard]] TaskRecord* allocate(std::size_t size_class) {
    ++model_.records_;
    auto* const memory = ::operator new(SizeClass::bytes(size_class), std::align_val_t{64});
    auto* const task = new (memory) TaskRecord;
    task->size_class = static_cast<std::uint8_t>(size_class);
    return task;
  }

  static void start_record(TaskRecord& task,
                           TaskType const& type,
                           TaskRecord* parent,
                           Attributes const& attributes = {}) {
    task.start(type, type.archs & attributes.archs, parent, attributes);
  }

  void recycle(TaskRecord& task) {
    --model_.records_;
    task.retire();
    ::operator delete(&task, SizeClass::bytes(task.size_class), std::align_val_t{64});
  }

  void count_spawn(TaskRecord& task) { model_.tasks_[model_.spawning_].record = &task; }

  void uncount_spawn(TaskRecord&) { model_.must(false, "a spawn is refused"); }

  void count_hint(TaskRecord&) {}

  void uncount_hint(TaskRecord&) {}

  void note_spawn(TaskRecord& task) {
    auto const& made = model_.tasks_[model_.spawning_];
    for (std::size_t k = 0; k < task.access_count; ++k) {
      auto*& queue = model_.queues_[made.at[k]];
      model_.must(queue == nullptr || queue == task.accesses()[k].queue,
                  "a datum has two queues in one domain");
      queue = task.accesses()[k].queue;
    }
  }

  void note_end(TaskRecord&) {}

  void note_division(PartitionState const&, bool) {}

  void ready(TaskRecord& task) {
    auto const slot = model_.slot_of(task);
    if (slot == none) {
      model_.must(false, "a task that is over may run");
      return;
    }
    auto& of = model_.tasks_[slot];
    task.binding.store(hs::detail::Binding::none);
    if (of.bound) { // the device has it already
      of.bound = false;
      return;
    }
    model_.must(of.status == Status::waiting, "a task may run twice");
    of.status = Status::ready;
  }

  void wait_granted(TaskRecord& task) { ready(task); }

  void give_to_device(TaskRecord&) { model_.must(false, "a hint that nobody gave"); }

  void prepare_merge(AccessQueue& queue) {
    auto* const record = allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
    record->next = std::exchange(queue.spare_merge, record);
  }

  [[nodiscard]] TaskRecord& new_merge(AccessQueue& queue, ReductionOps const& ops) {
    model_.must(queue.spare_merge != nullptr, "a merge has no record");
    auto& record = *std::exchange(queue.spare_merge, queue.spare_merge->next);
    auto* const owner = queue.domain->owner;
    start_record(record, merge_type, owner == spawner_ ? owner : nullptr);
    record.access_count = 1;
    new (record.accesses())
        Access{&queue, nullptr, {.merge = &ops}, AccessMode::read_write, false, 0, 0};
    for (auto& task : model_.tasks_) {
      if (task.kind == Kind::merge && task.record == nullptr &&
          model_.queues_[task.at[0]] == &queue) {
        task.record = &record;
        model_.must(owner == spawner_, "a body waits for another one's merge");
        return record;
      }
    }
    model_.must(false, "a merge of what is merged");
    return record;
  }

  void fail(TaskRecord& holder, std::exception_ptr const&) {
    model_.any_failed_ = true;
    ++model_.divisions_failed_;
    keep_boom();
    hs::detail::fail_division(holder, model_.log_, boom());
  }

  [[nodiscard]] Divisions*& divisions() { return divisions_; }

private:
  Model& model_;
  TaskRecord* spawner_;
  Divisions* divisions_ = nullptr;
};

namespace {

/// What a spawn asks of an engine.
struct Core {
  [[maybe_unused]] static constexpr bool in_virtual_time = false;
  Domain& domain;

  struct Shortage {
    std::size_t bytes;
    std::string_view device;
  };

  struct Devices {
    [[nodiscard]] static Shortage shortage(std::span<DataRecord* const>) { return {}; }
  };

  [[nodiscard]] static bool has_worker_of(hs::ArchMask) { return true; }

  [[nodiscard]] static Devices* devices() { return nullptr; }

  [[nodiscard]] Domain& current_domain() const { return domain; }
};

} // namespace

Model::Model(Setting const& setting)
    : setting_(setting), root_(new Domain),
      registry_(new DataRegistry(this, &await_unused, [](void*, DataRecord&) { return false; })),
      group_(new GroupState(*registry_)) {
  static_assert(hs::detail::spawn_host<Host>);
  for (std::size_t datum = 0; datum < setting_.data; ++datum) {
    add(datum);
  }
}

Model::~Model() {
  group_->release();
  registry_->detach();
  hs::detail::release_domain(root_);
}

bool Model::await_unused(void* model, DataRecord&) {
  static_cast<Model*>(model)->must(false, "the end of a handle waits for nothing");
  return true;
}

// ---- finding things ----

std::size_t Model::live() const {
  return static_cast<std::size_t>(std::count_if(
      tasks_.begin(), tasks_.end(), [](Task const& task) { return task.kind == Kind::user; }));
}

std::size_t Model::live_in_group() const {
  return static_cast<std::size_t>(
      std::count_if(tasks_.begin(), tasks_.end(), [](Task const& task) { return task.grouped; }));
}

/// Whether a child of the task is left (none: any task).
bool Model::anything_in(Index owner) const {
  return owner != none ? tasks_[owner].children != 0
                       : std::any_of(tasks_.begin(), tasks_.end(), [](Task const& task) {
                           return task.kind != Kind::free;
                         });
}

bool Model::any_unmerged(Index owner) const {
  return std::any_of(order_.places.begin(), order_.places.end(), [&](Place const& place) {
    return place.unmerged() && place.owner == owner;
  });
}

Index Model::free_task() const {
  Index slot = 0;
  while (slot < most_tasks && tasks_[slot].kind != Kind::free) {
    ++slot;
  }
  if (slot == most_tasks) {
    std::terminate();
  }
  return slot;
}

Index Model::slot_of(TaskRecord const& record) const {
  for (Index slot = 0; slot < most_tasks; ++slot) {
    if (tasks_[slot].kind != Kind::free && tasks_[slot].record == &record) {
      return slot;
    }
  }
  return none;
}

Index Model::new_place(Index datum, Index owner, AccessQueue* queue) {
  Index index = 0;
  while (index < most_places && order_.places[index].there) {
    ++index;
  }
  if (index == most_places) {
    std::terminate();
  }
  order_.places[index] = {};
  order_.places[index].there = true;
  order_.places[index].datum = datum;
  order_.places[index].owner = owner;
  queues_[index] = queue;
  return index;
}

/// Of a datum among the children of a task, or outside; none if nobody has named it there.
Index Model::place_at(Index datum, Index owner) const {
  for (Index index = 0; index < most_places; ++index) {
    auto const& place = order_.places[index];
    if (place.there && place.datum == datum && place.owner == owner) {
      return index;
    }
  }
  return none;
}

// ---- tasks ----

void Model::spawn(Event const& event) {
  auto const parent = static_cast<Index>((event.c & 127U) - 1U);
  bool const by_task = (event.c & 127U) != 0;
  auto const owner = by_task ? parent : none;
  auto const slot = free_task();
  auto& task = tasks_[slot];
  auto const& shapes = by_task ? setting_.child_shapes : setting_.shapes;
  task = {};
  task.kind = Kind::user;
  task.shape = shapes[event.a];
  task.parent = owner;
  task.grouped = (event.c & 128U) != 0;
  std::array<Index, 2> const chosen{static_cast<Index>(event.b % 16U),
                                    static_cast<Index>(event.b / 16U)};
  std::array<DataRecord*, 2> records{};
  auto const count = task.shape->modes.size();
  for (std::size_t k = 0; k < count; ++k) {
    records[k] = &record(chosen[k]);
    task.at[k] = place_at(chosen[k], owner);
    if (task.at[k] == none) {
      task.at[k] = new_place(chosen[k], owner, nullptr);
    }
  }
  bool const twice = count == 2 && chosen[0] == chosen[1];
  for (std::size_t k = 0; k < (twice ? 1 : count); ++k) {
    auto mode = task.shape->modes[k];
    mode = twice && mode != task.shape->modes[1] ? Mode::X : mode;
    if (order_.needs_merge(task.at[k], mode)) {
      expect_merge(task.at[k]);
    }
    order_.add(task.at[k], slot, mode);
  }
  if (by_task) {
    ++tasks_[owner].children;
  }
  auto* const spawner = by_task ? tasks_[owner].record : nullptr;
  Attributes attributes;
  attributes.group = task.grouped ? group_ : nullptr;
  Host host(*this, spawner);
  Core core{spawner == nullptr ? *root_ : hs::detail::children_domain(*spawner)};
  spawning_ = slot;
  hs::detail::spawn_through<false>(core,
                                   host,
                                   task.shape->type,
                                   attributes,
                                   std::span<DataRecord* const>(records.data(), count),
                                   {});
}

void Model::begin(Index slot) {
  auto& task = tasks_[slot];
  bool const bad = order_.needs_bad(slot);
  task.skipped = task.grouped && cancelled_;
  task.failed = bad && !task.skipped;
  bool const skipped = (task.grouped || any_failed_) && hs::detail::skip(*task.record, any_failed_);
  must(skipped == (task.skipped || task.failed),
       skipped ? "a task is skipped for no reason" : "a task needs what was never written");
  must(task.record->failed == task.failed, "a task is cancelled, and not said to have failed");
  task.status = Status::running;
  if (skipped) {
    finish(slot);
    return;
  }
  auto const lost = order_.needs_lost(slot);
  bool told = false;
  try { // as an engine that brings the data to host memory
    for (auto& access : std::span(task.record->accesses(), task.record->access_count)) {
      auto* const replicas = access.queue->data->replicas.load();
      if (access.mode == AccessMode::write && replicas != nullptr) {
        replicas->lost = false;
      } else if (access.mode != AccessMode::reduce) {
        take_data(access.queue->data->replicas, Destination::host, hs::writes(access.mode));
      }
    }
  } catch (hs::Error const&) {
    told = true;
  }
  must(told == lost, told ? "data are said to be lost that are not" : "a task reads what is lost");
  if (told) {
    fail(slot);
    finish(slot);
    return;
  }
  call_body(slot);
}

void Model::call_body(Index slot) {
  auto& task = tasks_[slot];
  if (task.shape->type.reduces) {
    hs::detail::lease_copies(*task.record);
  }
  for (std::size_t k = 0; k < task.shape->modes.size(); ++k) {
    auto const mode = task.shape->modes[k];
    auto const& datum = data_[order_.places[task.at[k]].datum];
    auto const& access = task.record->accesses()[k];
    for (std::size_t n = 0; n < datum.elements; ++n) {
      auto const element = datum.element + n;
      if (contributes(mode)) {
        ++static_cast<std::int64_t*>(access.carried.copy)[n];
        task.contribution = 1;
        continue;
      }
      auto* const memory = static_cast<std::int64_t*>(access.queue->base) + n;
      must(memory == &memory_[element], "a task uses other memory than its datum's");
      if (mode != Mode::W) {
        must(*memory == expected_[element], "a task reads a wrong value");
      } else {
        *memory = 0;
        expected_[element] = 0;
        order_.places[task.at[k]].lost = false;
      }
    }
  }
}

void Model::note_failure(Task const& task) {
  (task.grouped          ? group_failed_
   : task.parent != none ? children_failed_[task.parent]
                         : root_failed_) = true;
}

void Model::end(Index slot, bool good) {
  if (tasks_[slot].launched) {
    launched_.forget(*tasks_[slot].record);
  }
  if (!good) {
    undo_followers(slot);
    fail(slot);
  }
  finish(slot);
}

void Model::fail(Index slot) {
  auto& task = tasks_[slot];
  any_failed_ = true;
  task.record->failed = true;
  keep_boom();
  hs::detail::pass_up(*task.record, *root_, Owned<Failure>(new Failure{boom(), {"user", "", ""}}));
  task.failed = true;
  note_failure(task);
}

/// The body is over.
void Model::finish(Index slot) {
  auto& task = tasks_[slot];
  if (task.record->domain.load() != nullptr) {
    merge_all(slot);
  }
  task.status = Status::over;
  if (task.children == 0) {
    complete_task(slot);
  }
}

void Model::complete_task(Index slot) {
  auto& task = tasks_[slot];
  if (children_failed_[slot]) {
    task.failed = true;
    note_failure(task);
    children_failed_[slot] = false;
  }
  for (auto& place : order_.places) {
    if (place.there && place.owner == slot) {
      task.failed = task.failed || place.bad;
      place.there = false;
    }
  }
  keep_boom();
  if (task.record->domain.load() != nullptr) {
    hs::detail::close_domain(*task.record, *root_);
  }
  must(task.record->failed == task.failed,
       task.failed ? "a child's failure is forgotten" : "a task fails for no reason");
  if (!task.failed && !task.skipped && task.contribution != 0) {
    for (std::size_t k = 0; k < task.shape->modes.size(); ++k) {
      auto& place = order_.places[task.at[k]];
      place.series += contributes(task.shape->modes[k]) ? task.contribution : 0;
    }
  }
  release(slot, task.failed ? Outcome::failed : task.skipped ? Outcome::skipped : Outcome::done);
}

/// The task is over, with its children.
void Model::release(Index slot, Outcome outcome) {
  auto const parent = tasks_[slot].parent;
  auto& record = *tasks_[slot].record;
  tasks_[slot] = {};
  order_.end(slot, outcome);
  note_losses();
  Host host(*this, nullptr);
  hs::detail::release_accesses(host, record);
  host.recycle(record);
  free_parts();
  if (parent != none && --tasks_[parent].children == 0 && tasks_[parent].status == Status::over) {
    complete_task(parent);
  }
}

// ---- contributions ----

void Model::expect_merge(Index place) {
  auto const slot = free_task();
  tasks_[slot] = {};
  tasks_[slot].kind = Kind::merge;
  tasks_[slot].at[0] = place;
  tasks_[slot].parent = order_.places[place].owner;
  if (tasks_[slot].parent != none) {
    ++tasks_[tasks_[slot].parent].children;
  }
  order_.add(place, slot, Mode::X);
}

int Model::expect_merges(Index owner) {
  int merges = 0;
  for (Index index = 0; index < most_places; ++index) {
    if (order_.places[index].unmerged() && order_.places[index].owner == owner) {
      expect_merge(index);
      ++merges;
    }
  }
  return merges;
}

void Model::merge_all(Index owner) {
  auto const merges = expect_merges(owner);
  auto* const task = owner == none ? nullptr : tasks_[owner].record;
  auto& domain = task == nullptr ? *root_ : *task->domain.load();
  Host host(*this, task);
  must(hs::detail::merge_all(host, domain) == merges, "merges are miscounted");
}

void Model::run_merge(Index slot) {
  auto& task = tasks_[slot];
  auto& place = order_.places[task.at[0]];
  auto const& datum = data_[place.datum];
  bool const skipped = any_failed_ && hs::detail::skip(*task.record, any_failed_);
  must(task.record->cancelled == place.bad, "a merge of a failed series, or none of a good one");
  if (!place.bad && place.lost) { // it drops what it cannot add to
    fail(slot);
    task.record->cancelled = true;
  }
  if (!skipped) {
    hs::detail::merge_copies(*task.record);
  }
  bool const bad = place.bad || place.lost;
  auto const series = std::exchange(place.series, 0);
  if (!bad && place.owner != none && contributor(place.owner, place.datum)) {
    tasks_[place.owner].contribution += series;
  } else if (!bad) {
    for (std::size_t n = 0; n < datum.elements; ++n) {
      auto& value = expected_[datum.element + n];
      value += series;
      must(memory_[datum.element + n] == value, "a merge has a wrong result");
      value %= modulus;
      memory_[datum.element + n] %= modulus;
    }
  }
  release(slot, bad ? Outcome::failed : Outcome::done);
}

/// Whether the task contributes to the datum itself.
bool Model::contributor(Index slot, Index datum) const {
  auto const& task = tasks_[slot];
  for (std::size_t k = 0; k < task.shape->modes.size(); ++k) {
    if (contributes(task.shape->modes[k]) && order_.places[task.at[k]].datum == datum) {
      return true;
    }
  }
  return false;
}

// ---- what the program waits for ----

void Model::sync(Index owner) {
  auto* const task = owner == none ? nullptr : tasks_[owner].record;
  auto& domain = task == nullptr ? *root_ : *task->domain.load();
  auto& failed = owner == none ? root_failed_ : children_failed_[owner];
  keep_boom();
  bool throws = static_cast<bool>(hs::detail::end_sync(domain));
  for (auto& of : data_) { // all data of the domain come home
    auto* const replicas = of.handle ? of.handle.record()->replicas.load() : nullptr;
    if (replicas != nullptr && owner == none) {
      throws = throws || replicas->lost;
      replicas->lost = false;
    }
  }
  for (auto& place : order_.places) {
    if (place.there && place.owner == owner && place.lost) {
      failed = true;
      place.lost = false;
    }
  }
  must(throws == failed, throws ? "a sync throws for no reason" : "a sync does not throw");
  failed = false;
  for (auto& place : order_.places) {
    place.bad = place.bad && place.owner != owner;
  }
}

void Model::sync_group() {
  keep_boom();
  bool const throws = static_cast<bool>(group_->failure.take());
  must(throws == group_failed_, "a group's failure is forgotten, or none");
  group_failed_ = false;
  cancelled_ = false;
  group_->release();
  group_ = new GroupState(*registry_);
}

void Model::wait(Index datum) {
  auto const place = place_at(datum, none);
  if (order_.needs_merge(place, Mode::X)) {
    expect_merge(place);
  }
  auto const slot = free_task();
  tasks_[slot] = {};
  tasks_[slot].kind = Kind::wait;
  tasks_[slot].at[0] = place;
  order_.add(place, slot, Mode::X);
  Host host(*this, nullptr);
  auto& record = *host.allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
  Host::start_record(record, hs::detail::wait_type, nullptr);
  record.access_count = 1;
  new (record.accesses()) Access{queues_[place], nullptr, {}, AccessMode::read_write, false, 0, 0};
  tasks_[slot].record = &record;
  hs::detail::register_accesses(host, record);
}

void Model::look(Index slot) {
  auto const& place = order_.places[tasks_[slot].at[0]];
  auto const& datum = data_[place.datum];
  auto const& queue = *queues_[tasks_[slot].at[0]];
  std::exception_ptr lost;
  try {
    hs::detail::take_data(hs::detail::replicas_of(queue), Destination::home, true);
  } catch (hs::Error const&) {
    lost = std::current_exception();
  }
  bool const throws = hs::detail::error_of(queue, lost) != nullptr;
  must(throws == (place.bad || place.lost),
       throws ? "a sync of a good datum throws" : "a sync of a datum does not throw");
  for (std::size_t n = 0; n < datum.elements; ++n) {
    must(memory_[datum.element + n] == expected_[datum.element + n],
         "the program reads a wrong value");
  }
  release(slot, Outcome::done);
}

// ---- data ----

void Model::add(std::size_t datum) {
  auto& of = data_[datum];
  of.element = static_cast<std::uint8_t>(2 * datum);
  of.elements = 2;
  auto* const record = hs::detail::register_region(&memory_[of.element],
                                                   {of.elements, 1, of.elements},
                                                   sizeof(std::int64_t),
                                                   false,
                                                   *root_,
                                                   *registry_);
  of.handle = hs::Handle<Data>(record);
  (void)new_place(static_cast<Index>(datum), none, &record->home);
}

void Model::drop(Index datum) {
  if (data_[datum].part_of == none) {
    order_.places[place_at(datum, none)].there = false;
  }
  data_[datum].handle = {};
}

void Model::partition(Index datum) {
  auto const place = place_at(datum, none);
  Index division = 0;
  while (order_.divisions[division].there) {
    ++division;
  }
  if (order_.needs_merge(place, Mode::X)) {
    expect_merge(place);
  }
  order_.divisions[division] = {true, false, false, place};
  order_.add(place, none, Mode::X, division);
  Host host(*this, nullptr);
  // The parts are there before the whole is granted.
  auto& of = data_[datum];
  auto const parts = of.elements;
  std::array<Index, 2> slots{none, none};
  for (std::size_t part = 0; part < parts; ++part) {
    Index slot = static_cast<Index>(setting_.data);
    while (data_[slot].part_of != none) {
      ++slot;
    }
    slots[part] = slot;
    data_[slot].part_of = division;
    data_[slot].element = static_cast<std::uint8_t>(of.element + part);
    data_[slot].elements = 1;
    order_.places[new_place(slot, none, nullptr)].part_of = division;
  }
  of.division = division;
  order_.settle();
  note_losses();
  auto [state, handles] =
      hs::detail::open_partition<Data>(host, record(datum), {{1, 1}}, nullptr, *root_);
  of.state = state;
  must(handles.size() == parts, "a region has other parts");
  for (std::size_t part = 0; part < parts; ++part) {
    queues_[place_at(slots[part], none)] = &handles[part].record()->home;
    data_[slots[part]].handle = std::move(handles[part]);
  }
}

void Model::note_join(Index datum) {
  auto const division = data_[datum].division;
  for (Index part = 0; part < most_data; ++part) {
    if (data_[part].part_of == division) {
      if (data_[part].division != none) {
        note_join(part);
      }
      auto const place = place_at(part, none);
      if (order_.places[place].unmerged()) {
        expect_merge(place);
      }
      order_.places[place].named = false; // nobody names it any more
    }
  }
  order_.divisions[division].joined = true;
}

/// As ~Partition: the parts' handles go with it. Partitions of parts are left to the program.
void Model::join(Index datum) {
  note_join(datum);
  order_.settle();
  note_losses();
  auto* const state = data_[datum].state;
  Host host(*this, nullptr);
  hs::detail::close_partition(host, *state);
  hs::detail::release_partition(*state);
  data_[datum].state = nullptr;
  for (auto& part : data_) {
    if (part.part_of == data_[datum].division) {
      put_aside_partitions(part);
      part.handle = {};
    }
  }
  data_[datum].division = none;
  free_parts();
}

/// The partitions of a part, and of its parts, are left to the program, with the handles.
void Model::put_aside_partitions(Datum& part) {
  if (part.division == none) {
    return;
  }
  std::size_t free = 0;
  while (left_[free].state != nullptr) {
    ++free;
  }
  left_[free].state = std::exchange(part.state, nullptr);
  std::size_t count = 0;
  for (auto& of_part : data_) {
    if (of_part.part_of == part.division) {
      put_aside_partitions(of_part);
      left_[free].handles[count++] = std::move(of_part.handle);
    }
  }
  part.division = none;
}

/// The program ends a partition of what was joined since.
void Model::leave(std::size_t which) {
  auto& left = left_[which];
  Host host(*this, nullptr);
  hs::detail::close_partition(host, *left.state);
  hs::detail::release_partition(*left.state);
  left = {};
}

/// What the program has no parts of any more.
void Model::free_parts() {
  for (auto& of : data_) {
    if (of.part_of != none && !order_.divisions[of.part_of].there) {
      of = {};
    }
  }
}

// ---- devices ----

void Model::Keeper::take(std::span<Replicas* const> data, Destination destination, bool) {
  for (auto* const replicas : data) {
    if (destination == Destination::whole) {
      replicas->lost = false;
    } else if (replicas->lost) {
      throw hs::Error(hs::ErrorCode::device_failed, "a datum", "is lost");
    }
  }
}

void Model::Keeper::forget(Replicas* replicas) noexcept {
  replicas->slot->store(nullptr);
  delete replicas;
}

/// A device had the only copy.
void Model::lose(Index datum) {
  auto& slot = record(datum).replicas;
  if (slot.load() == nullptr) {
    slot.store(new Replicas(keeper_, 2));
    slot.load()->slot = &slot;
  }
  slot.load()->lost = true;
  order_.places[place_at(datum, none)].lost = true;
}

/// A partition or a join that finds data lost tells the sync.
void Model::note_losses() {
  root_failed_ = root_failed_ || order_.losses != 0;
  divisions_failed_ -= std::exchange(order_.losses, 0);
}

void Model::launch(Index slot) {
  begin(slot);
  if (tasks_[slot].kind == Kind::user && tasks_[slot].status == Status::running) {
    tasks_[slot].launched = true;
    launched_.note(*tasks_[slot].record, hs::ArchCUDA);
  }
}

void Model::follow() {
  auto* const record = launched_.next();
  auto const slot = slot_of(*record);
  must(slot != none && tasks_[slot].status == Status::waiting, "a task is launched twice");
  if (violation_ != nullptr) {
    return;
  }
  check_follower(slot);
  auto& task = tasks_[slot];
  if ((task.grouped || any_failed_) && hs::detail::skip(*record, any_failed_)) {
    record->binding.store(hs::detail::Binding::undone);
    return;
  }
  record->binding.store(hs::detail::Binding::bound);
  task.bound = true;
  task.launched = true;
  task.status = Status::running;
  call_body(slot);
  launched_.note(*record, hs::ArchCUDA);
}

/// All that the task waits for are tasks on the device that write the datum.
void Model::check_follower(Index slot) {
  order_.each_use(slot, [&](Place const& place, std::size_t which) {
    for (std::size_t k = 0; k < which; ++k) {
      auto const& before = place.uses[k];
      if (before.outcome == Outcome::open && !share(before.mode, place.uses[which].mode)) {
        must(before.task != none && tasks_[before.task].launched &&
                 (before.mode == Mode::W || before.mode == Mode::X),
             "a task is launched behind what is not on the device");
      }
    }
  });
}

/// What was launched behind a task that fails waits as if it had not been.
void Model::undo_followers(Index failed) {
  for (Index slot = 0; slot < most_tasks; ++slot) {
    auto& task = tasks_[slot];
    bool follows = false;
    order_.each_use(slot, [&](Place const& place, std::size_t which) {
      for (std::size_t k = 0; k < which; ++k) {
        follows = follows || (task.bound && place.uses[k].task == failed &&
                              place.uses[k].outcome == Outcome::open);
      }
    });
    if (follows) {
      launched_.forget(*task.record);
      task.record->binding.store(hs::detail::Binding::undone);
      task.bound = false;
      task.launched = false;
      task.status = Status::waiting;
      undo_followers(slot);
    }
  }
}

// ---- all comes to its end ----

void Model::settle() {
  for (bool changed = true; changed && violation_ == nullptr;) {
    changed = false;
    for (Index slot = 0; slot < most_tasks && violation_ == nullptr; ++slot) {
      auto const& task = tasks_[slot];
      bool const ready = task.status == Status::ready;
      bool const running = task.kind == Kind::user && task.status == Status::running;
      if (task.kind == Kind::user && ready) {
        begin(slot);
      } else if (running && !task.bound) {
        end(slot, true);
      } else if (task.kind == Kind::merge && ready) {
        run_merge(slot);
      } else if (task.kind == Kind::wait && ready) {
        look(slot);
      } else {
        continue;
      }
      changed = true;
      check();
    }
    for (Index datum = 0; datum < most_data && !changed && violation_ == nullptr; ++datum) {
      if (data_[datum].division != none && data_[datum].part_of == none) {
        join(datum);
        changed = true;
        check();
      }
    }
    if (!changed && any_unmerged(none)) {
      merge_all(none);
      changed = true;
      check();
    }
  }
  must(!anything_in(none), "a task waits for ever");
}

void Model::complete() {
  settle();
  if (violation_ != nullptr) {
    return;
  }
  sync_group();
  sync(none);
  for (std::size_t datum = 0; datum < setting_.data; ++datum) {
    if (data_[datum].handle) {
      wait(static_cast<Index>(datum));
    }
  }
  settle();
  for (std::size_t k = 0; k < left_.size(); ++k) {
    if (left_[k].state != nullptr) {
      leave(k);
    }
  }
  for (std::size_t datum = 0; datum < setting_.data && violation_ == nullptr; ++datum) {
    if (data_[datum].handle) {
      drop(static_cast<Index>(datum));
    }
  }
  must(records_ == 0, "a task's record is not recycled");
  must(root_->references.load() == 1, "a datum is not forgotten");
  registry_->for_each([&](DataRecord&) { must(false, "a datum is still known"); });
}

} // namespace dataflow_model
