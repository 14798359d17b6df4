// SPDX-License-Identifier: MIT
// What happens to an abortable task, and what must hold.

#include "attempts_model.hpp"

#include <algorithm>
#include <utility>

namespace attempts_model {

namespace {

using hs::detail::TaskKind;
using hs::detail::TaskType;

constexpr TaskType abortable_type = [] {
  TaskType type{"abortable", TaskKind::user, hs::ArchMask{0xff}, {}, nullptr, nullptr, nullptr};
  type.value_bytes = sizeof(AttemptLink);
  type.value_align = alignof(AttemptLink);
  type = hs::detail::laid_out(type, false);
  type.attempt_at = static_cast<std::uint32_t>(type.values_at);
  return type;
}();

} // namespace

Model::Model(Setting const& setting) : setting_(setting), task_(make_record()) {
}

Model::~Model() {
  ::operator delete(task_, abortable_type.record_bytes, std::align_val_t{64});
}

TaskRecord* Model::make_record() const {
  auto* const memory = ::operator new(abortable_type.record_bytes, std::align_val_t{64});
  auto* const record = new (memory) TaskRecord;
  record->start(abortable_type, abortable_type.archs, nullptr, {});
  new (record->values()) AttemptLink;
  return record;
}

// ---- what may happen ----

void Model::events(std::vector<Event>& out) const {
  auto const may = [&](Step step, std::size_t at) {
    out.push_back({step, static_cast<std::uint8_t>(at), 0});
  };
  for (std::size_t at = 0; at < workers(); ++at) {
    auto const& worker = workers_[at];
    switch (worker.stage) {
    case Stage::idle:
      if (ready_) {
        may(Step::take, at);
      }
      if (all_ != nullptr) {
        may(Step::reserve, at);
      }
      break;
    case Stage::reserved:
      may(Step::visit, at);
      break;
    case Stage::visiting:
      if (worker.attempt == nullptr && *worker.visit) {
        may(Step::enter, at);
      }
      may(Step::go, at);
      break;
    case Stage::under_way:
      may(Step::look, at);
      break;
    case Stage::looking:
      may(Step::begin, at);
      break;
    case Stage::body:
      may(Step::end, at);
      if (on_device(at)) {
        may(Step::refuse, at);
      } else if (AttemptLink::of(*worker.attempt).stop.load()) {
        may(Step::stop, at);
      }
      break;
    case Stage::won:
      if (worker.all->visitors.load() == 0) {
        may(Step::publish, at);
      }
      break;
    case Stage::over:
      may(Step::leave, at);
      break;
    case Stage::again:
      may(Step::again, at);
      break;
    case Stage::left:
      may(Step::tell, at);
      break;
    }
  }
}

// ---- what happens ----

void Model::apply(Event const& event) {
  auto const at = static_cast<std::size_t>(event.a);
  auto& worker = workers_[at];
  switch (event.step) {
  case Step::take:
    return take(at);
  case Step::reserve:
    if (hs::detail::reserve_attempt(*all_, event.a, workers())) {
      must(!complete_, "a task that is over is begun");
      worker.all = all_;
      worker.stage = Stage::reserved;
    }
    return;
  case Step::visit:
    worker.visit.emplace(*worker.all);
    worker.stage = Stage::visiting;
    return;
  case Step::enter:
    uses_task();
    worker.attempt = make_record();
    worker.attempt->worker.store(event.a);
    AttemptLink::of(*worker.attempt).all = worker.all;
    hs::detail::enter_attempt(*worker.all, *worker.attempt);
    return;
  case Step::go:
    worker.visit.reset();
    worker.stage = worker.attempt != nullptr ? Stage::under_way : Stage::over;
    return;
  case Step::look:
    worker.visit.emplace(*worker.all);
    worker.stage = *worker.visit ? Stage::looking : Stage::over;
    if (!*worker.visit) {
      worker.visit.reset();
    }
    return;
  case Step::begin:
    uses_task();
    worker.visit.reset();
    worker.stage = Stage::body;
    return;
  case Step::stop:
  case Step::refuse:
    worker.stage = Stage::over;
    return;
  case Step::end:
    worker.stage = hs::detail::claim(*worker.attempt) ? Stage::won : Stage::over;
    return;
  case Step::publish:
    uses_task();
    ++published_;
    hs::detail::overtake_attempts(*worker.all, *worker.attempt, [&](TaskRecord const& other) {
      return on_device(static_cast<std::size_t>(other.worker.load()));
    });
    worker.stage = Stage::over;
    return;
  case Step::leave:
    return leave(at);
  case Step::again:
    task_->children.fetch_add(TaskRecord::body_bias);
    must(!ready_, "a task is handed to the scheduler twice");
    ready_ = true;
    worker.stage = Stage::left;
    return;
  case Step::tell:
    return tell(at);
  }
}

void Model::uses_task() {
  must(!complete_, "a task is used that is over");
}

/// The worker is given the task, which has a body that ends at once.
void Model::take(std::size_t at) {
  auto& worker = workers_[at];
  ready_ = false;
  must(!complete_, "a task that is over is begun");
  must(all_ == nullptr, "a task is begun while attempts are under way");
  auto* const all = new Attempts;
  all->task = task_;
  worker.attempt = make_record();
  worker.attempt->worker.store(static_cast<std::int32_t>(at));
  AttemptLink::of(*worker.attempt).all = all;
  hs::detail::enter_first_attempt(*all, *worker.attempt);
  all_ = all;
  worker.all = all;
  worker.stage = Stage::under_way;
  if (task_->children.fetch_sub(TaskRecord::body_bias) == TaskRecord::body_bias) {
    complete_task();
  }
}

void Model::leave(std::size_t at) {
  auto& worker = workers_[at];
  auto const departure = hs::detail::leave_attempt(*worker.all, worker.attempt);
  if (departure.last) {
    must(std::count_if(workers_.begin(),
                       workers_.end(),
                       [&](Worker const& other) { return other.all == worker.all; }) == 1,
         "attempts are given up while one is under way");
    all_ = all_ == worker.all ? nullptr : all_;
    delete worker.all;
  }
  if (worker.attempt != nullptr) {
    ::operator delete(worker.attempt, abortable_type.record_bytes, std::align_val_t{64});
  }
  worker.attempt = nullptr;
  worker.all = nullptr;
  worker.held = departure.held;
  must(!departure.again || published_ == 0, "a task with a result is begun anew");
  worker.stage = departure.again ? Stage::again : Stage::left;
}

void Model::tell(std::size_t at) {
  workers_[at].stage = Stage::idle;
  if (workers_[at].held) {
    must(!complete_, "a task that is over has children");
    if (task_->children.fetch_sub(1) == 1) {
      complete_task();
    }
  }
}

void Model::complete_task() {
  must(!complete_, "a task is over twice");
  must(published_ == 1, "a task is over without a result");
  for (std::size_t at = 0; at < workers(); ++at) {
    auto const& worker = workers_[at];
    must(!worker.visit || !*worker.visit, "a task is over while somebody looks at it");
    must(worker.stage != Stage::won && (worker.stage != Stage::body || on_device(at)),
         "a task is over while an attempt uses its data");
  }
  complete_ = true;
}

// ---- what must hold ----

void Model::check() {
  must(published_ <= 1, "a task has two results");
  int held = 0;
  int users = 0;
  for (auto const& worker : workers_) {
    bool const counts = worker.all != nullptr;
    users += counts ? 1 : 0;
    held += counts && (worker.attempt == nullptr || AttemptLink::of(*worker.attempt).holds) ? 1 : 0;
    held += worker.all == nullptr && worker.stage != Stage::idle && worker.held ? 1 : 0;
    bool const overtaken =
        published_ != 0 && worker.attempt != nullptr && worker.stage != Stage::over;
    must(!overtaken || AttemptLink::of(*worker.attempt).stop.load(),
         "an attempt whose result is not wanted is not told so");
  }
  auto const bias = ready_ ? TaskRecord::body_bias : 0;
  must(task_->children.load() == held + bias, "attempts are miscounted");
  must(all_ == nullptr || all_->users == users, "users of attempts are miscounted");
  must(all_ == nullptr || all_->begun <= workers() + 1, "a task is begun for ever");
}

void Model::complete() {
  for (int round = 0; round < 200 && violation_ == nullptr; ++round) {
    std::vector<Event> possible;
    events(possible);
    std::erase_if(possible, [](Event const& event) {
      return event.step == Step::reserve || event.step == Step::refuse || event.step == Step::stop;
    });
    if (possible.empty()) {
      break;
    }
    apply(possible.back());
    check();
  }
  must(complete_ && all_ == nullptr, "a task is never over");
}

// ---- equal states ----

std::uint64_t Model::key() const {
  std::array<std::uint64_t, most_workers> of{};
  for (std::size_t at = 0; at < workers(); ++at) {
    auto const& worker = workers_[at];
    auto& word = of[at];
    word = static_cast<std::uint64_t>(worker.stage) * 2 + (on_device(at) ? 1U : 0U);
    word = word * 4 + (worker.visit ? 1U + (*worker.visit ? 1U : 0U) : 0U);
    word = word * 2 + (worker.held ? 1U : 0U);
    word = word * 2 + (worker.all != nullptr ? 1U : 0U);
    if (auto* const attempt = worker.attempt; attempt != nullptr) {
      auto const& link = AttemptLink::of(*attempt);
      word = word * 16 + 1U + 2U * link.stop.load() + 4U * link.holds +
             8U * (worker.all->winner.load() == attempt);
    }
  }
  std::sort(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(setting_.cores));
  std::sort(of.begin() + static_cast<std::ptrdiff_t>(setting_.cores),
            of.begin() + static_cast<std::ptrdiff_t>(workers()));
  std::uint64_t hash = 0x243f6a8885a308d3U;
  auto const add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  };
  for (auto const word : of) {
    add(word);
  }
  add(static_cast<std::uint64_t>(task_->children.load()));
  add((ready_ ? 1U : 0U) + (complete_ ? 2U : 0U) + static_cast<unsigned>(published_) * 4U);
  if (all_ != nullptr) {
    add(all_->begun * 64 + static_cast<std::uint64_t>(all_->users) * 8 +
        static_cast<std::uint64_t>(all_->visitors.load()));
    add(all_->winner.load() != nullptr ? 1 : 0);
  }
  return hash * 0xbf58476d1ce4e5b9U;
}

// ---- as text ----

std::string violation_of(Setting const& setting, std::vector<Event> const& events) {
  Model model(setting);
  for (auto const& event : events) {
    std::vector<Event> possible;
    model.events(possible);
    if (std::none_of(possible.begin(), possible.end(), [&](Event const& other) {
          return other.step == event.step && other.a == event.a;
        })) {
      break;
    }
    model.apply(event);
    model.check();
    if (!model.violation().empty()) {
      return model.violation();
    }
  }
  model.complete();
  return model.violation();
}

std::string
as_test(Setting const& setting, std::vector<Event> const& events, std::string const& violation) {
  constexpr std::array<char const*, 14> names{"take",
                                              "reserve",
                                              "visit",
                                              "enter",
                                              "go",
                                              "look",
                                              "begin",
                                              "stop",
                                              "refuse",
                                              "end",
                                              "publish",
                                              "leave",
                                              "again",
                                              "tell"};
  auto text = "TEST_CASE(\"Attempts: " + violation + "\") {\n  CHECK(violation_of(" + setting.name +
              "(),\n                     {\n";
  for (auto const& event : events) {
    text += "                         {Step::" +
            std::string(names[static_cast<std::size_t>(event.step)]) + ", " +
            std::to_string(event.a) + ", 0},\n";
  }
  return text + "                     })\n            .empty());\n}\n";
}

} // namespace attempts_model
