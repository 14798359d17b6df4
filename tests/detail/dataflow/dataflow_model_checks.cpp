// SPDX-License-Identifier: MIT
// What may happen in the model, what must hold, which of its states are equal, and its sequences as
// text.

#include "dataflow_model.hpp"

#include <exception>

namespace dataflow_model {

// ---- what may happen ----

namespace {

void may(
    std::vector<Event>& out, Step step, std::size_t a = 0, std::size_t b = 0, std::size_t c = 0) {
  out.push_back({step,
                 static_cast<std::uint8_t>(a),
                 static_cast<std::uint8_t>(b),
                 static_cast<std::uint8_t>(c),
                 0});
}

/// Whether a child may use a datum like this if its parent uses it like that.
bool allowed_below(Mode parent, Mode child) {
  return parent == Mode::R || contributes(parent) ? child == parent : true;
}

} // namespace

void Model::events(std::vector<Event>& out) const {
  if (live() < setting_.live) {
    events_of_spawns(out, none);
  }
  for (Index slot = 0; slot < most_tasks; ++slot) {
    events_of_task(slot, out);
  }
  for (std::size_t datum = 0; datum < most_data; ++datum) {
    events_of_datum(datum, out);
  }
  if (setting_.early && launched_.next() != nullptr) {
    may(out, Step::follow);
  }
  for (std::size_t k = 0; k < left_.size(); ++k) {
    if (left_[k].state != nullptr) {
      may(out, Step::leave, k);
    }
  }
  if (any_unmerged(none)) {
    may(out, Step::merge_all, none);
  }
  if (setting_.fails && !anything_in(none) && !any_unmerged(none)) {
    may(out, Step::sync, none);
  }
  if (setting_.group && !cancelled_ && live_in_group() != 0) {
    may(out, Step::cancel);
  }
  if (setting_.group && live_in_group() == 0 && (cancelled_ || group_failed_)) {
    may(out, Step::sync_group);
  }
}

/// Whether a child of the task (none: a task outside bodies) may do that with the datum.
bool Model::may_name(Index parent, Mode mode, std::size_t datum) const {
  if (parent == none) {
    return usable(datum);
  }
  auto const& task = tasks_[parent];
  for (std::size_t k = 0; k < task.shape->modes.size(); ++k) {
    if (order_.places[task.at[k]].datum == datum) {
      return allowed_below(task.shape->modes[k], mode);
    }
  }
  return false;
}

void Model::events_of_spawns(std::vector<Event>& out, Index parent) const {
  auto const& shapes = parent == none ? setting_.shapes : setting_.child_shapes;
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    auto const& modes = shapes[s]->modes;
    for (std::size_t a = 0; a < most_data; ++a) {
      if (!may_name(parent, modes[0], a)) {
        continue;
      }
      for (std::size_t b = 0; b < (modes.size() == 2 ? most_data : 1); ++b) {
        bool const same = modes.size() == 2 && a == b;
        bool const again = modes.size() == 2 && modes[0] == modes[1] && b < a;
        bool const mixed = same && (contributes(modes[0]) || contributes(modes[1]));
        if (again || (same && !setting_.twice) || mixed ||
            (modes.size() == 2 && !may_name(parent, modes[1], b))) {
          continue;
        }
        auto const by = parent == none ? 0U : parent + 1U;
        may(out, Step::spawn, s, a + 16 * b, by);
        if (setting_.group) {
          may(out, Step::spawn, s, a + 16 * b, by + 128);
        }
      }
    }
  }
}

void Model::events_of_task(Index slot, std::vector<Event>& out) const {
  auto const& task = tasks_[slot];
  if (task.kind == Kind::merge && task.status == Status::ready) {
    may(out, Step::merge, slot);
  }
  if (task.kind == Kind::wait && task.status == Status::ready) {
    may(out, Step::look, slot);
  }
  if (task.kind != Kind::user) {
    return;
  }
  if (task.status == Status::ready) {
    if (setting_.runs) {
      may(out, Step::run, slot);
      if (setting_.fails && !order_.needs_bad(slot) && !(task.grouped && cancelled_)) {
        may(out, Step::run_badly, slot);
      }
    } else {
      may(out, Step::begin, slot);
    }
    if (setting_.early && !task.shape->type.commutes && !task.shape->type.reduces) {
      may(out, Step::launch, slot);
    }
  }
  if (task.status != Status::running || task.bound) {
    return;
  }
  may(out, Step::end, slot);
  if (setting_.fails) {
    may(out, Step::fail, slot);
  }
  if (setting_.child_shapes.empty() || task.parent != none) {
    return;
  }
  if (live() < setting_.live) {
    events_of_spawns(out, slot);
  }
  if (task.children == 0 && task.record->domain.load() != nullptr) {
    if (any_unmerged(slot)) {
      may(out, Step::merge_all, slot);
    } else {
      may(out, Step::sync, slot);
    }
  }
}

/// Whether a body uses it now, or its parts hold the value, or it is lost.
bool Model::in_use(std::size_t datum) const {
  auto const& place = order_.places[place_at(static_cast<Index>(datum), none)];
  for (std::size_t k = 0; k < place.count; ++k) {
    auto const& use = place.uses[k];
    bool const in_parts = use.division != none && order_.divisions[use.division].opened;
    bool const begun = use.task != none && use.outcome == Outcome::open &&
                       tasks_[use.task].status != Status::waiting;
    if (in_parts || begun) {
      return true;
    }
  }
  return place.lost;
}

void Model::events_of_datum(std::size_t datum, std::vector<Event>& out) const {
  auto const& of = data_[datum];
  bool const waited = std::any_of(
      tasks_.begin(), tasks_.end(), [](Task const& task) { return task.kind == Kind::wait; });
  if (setting_.waits && !waited && usable(datum)) {
    may(out, Step::wait, datum);
  }
  auto const divided = static_cast<std::size_t>(
      std::count_if(order_.divisions.begin(), order_.divisions.end(), [](Division const& division) {
        return division.there;
      }));
  auto const left = static_cast<std::size_t>(std::count_if(
      left_.begin(), left_.end(), [](Left const& other) { return other.state != nullptr; }));
  if (divided < setting_.divisions && usable(datum) &&
      (of.part_of == none || (setting_.of_parts && left + divided < left_.size()))) {
    may(out, Step::partition, datum);
  }
  if (of.division != none) {
    may(out, Step::join, datum);
  }
  if (setting_.losses && of.handle && of.division == none && !in_use(datum)) {
    may(out, Step::lose, datum);
  }
  if (!setting_.comes_and_goes || datum >= setting_.data) {
    return;
  }
  if (!of.handle) {
    may(out, Step::add, datum);
  } else if (of.division == none) {
    auto const& place = order_.places[place_at(static_cast<Index>(datum), none)];
    if (place.count == 0 && !place.unmerged()) {
      may(out, Step::drop, datum);
    }
  }
}

// ---- what happens ----

void Model::apply(Event const& event) {
  try {
    happen(event);
  } catch (std::exception const&) {
    must(false, "an exception that no user can mend");
  }
}

void Model::happen(Event const& event) {
  switch (event.step) {
  case Step::spawn:
    return spawn(event);
  case Step::begin:
    return begin(event.a);
  case Step::end:
    return end(event.a, true);
  case Step::fail:
    return end(event.a, false);
  case Step::run:
  case Step::run_badly:
    begin(event.a);
    if (tasks_[event.a].kind == Kind::user && tasks_[event.a].status == Status::running) {
      end(event.a, event.step == Step::run);
    }
    return;
  case Step::merge:
    return run_merge(event.a);
  case Step::cancel:
    cancelled_ = true;
    group_->cancelled.store(true);
    return;
  case Step::sync_group:
    return sync_group();
  case Step::merge_all:
    return merge_all(event.a);
  case Step::sync:
    return sync(event.a);
  case Step::wait:
    return wait(event.a);
  case Step::look:
    return look(event.a);
  case Step::partition:
    return partition(event.a);
  case Step::join:
    return join(event.a);
  case Step::leave:
    return leave(event.a);
  case Step::drop:
    return drop(event.a);
  case Step::add:
    return add(event.a);
  case Step::launch:
    return launch(event.a);
  case Step::follow:
    return follow();
  case Step::lose:
    return lose(event.a);
  }
}

// ---- what must hold ----

void Model::check() {
  must(divisions_failed_ == 0, "a partition fails for no reason, or does not fail");
  for (Index slot = 0; slot < most_tasks; ++slot) {
    if (tasks_[slot].kind != Kind::free && tasks_[slot].status != Status::over) {
      check_task(slot);
    }
  }
  for (Index index = 0; index < most_places; ++index) {
    if (order_.places[index].there && queues_[index] != nullptr) {
      check_place(index);
    }
  }
}

void Model::check_task(Index slot) {
  auto const& task = tasks_[slot];
  if (task.record == nullptr) {
    must(false, "contributions are not merged");
    return;
  }
  auto const missing = order_.missing(slot);
  must((task.status != Status::waiting && !task.bound) || task.record->pending.load() == missing,
       "what a task waits for is miscounted");
  if (missing != 0) {
    must(task.status == Status::waiting || task.bound, "a task may run too early");
  } else if (task.status == Status::waiting) {
    bool busy = false; // a datum on which it commutes
    order_.each_use(slot, [&](Place const& place, std::size_t which) {
      busy = busy || (place.uses[which].mode == Mode::C && token_holders(place) != 0);
    });
    must(busy, "a task waits for nothing");
  }
}

/// How many commuting tasks have the datum for themselves.
int Model::token_holders(Place const& place) const {
  int holders = 0;
  for (std::size_t k = 0; k < place.count; ++k) {
    auto const& use = place.uses[k];
    holders += use.mode == Mode::C && use.outcome == Outcome::open && use.task != none &&
                       tasks_[use.task].status != Status::waiting
                   ? 1
                   : 0;
  }
  return holders;
}

void Model::check_place(Index index) {
  auto const& place = order_.places[index];
  auto const& queue = *queues_[index];
  std::uint32_t active = 0;
  std::uint32_t waiting = 0;
  for (std::size_t k = 0; k < place.count; ++k) {
    bool const open = place.uses[k].outcome == Outcome::open;
    bool const granted = order_.granted(place, k);
    active += open && granted ? 1 : 0;
    waiting += open && !granted ? 1 : 0;
  }
  bool const closed = place.part_of != none && order_.divisions[place.part_of].joined;
  if (place.part_of != none && !order_.divisions[place.part_of].opened) {
    must(queue.active == 1, "a part is used before the whole is granted");
  } else if (!closed) { // the join has an access, too
    must(queue.active == active, "who holds a datum is miscounted");
  }
  must(closed || queue.waiting == waiting, "who waits for a datum is miscounted");
  must(closed || queue.poisoned() == place.bad,
       place.bad ? "what a failed task was to write is good" : "good data are said to be bad");
  auto const holders = token_holders(place);
  must(holders <= 1, "two commuting tasks run at once");
  must(queue.token_taken == (holders == 1), "a token is lost, or nobody's");
  must(queue.closed == closed, "a joined part may be named, or another may not");
}

// ---- equal states ----

namespace {

class Hash {
public:
  void add(std::uint64_t number) noexcept {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15U;
    value_ ^= value_ >> 32U;
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return value_ * 0xbf58476d1ce4e5b9U; }

private:
  std::uint64_t value_ = 0x243f6a8885a308d3U;
};

} // namespace

/// What is checked of a state is in its key.
///
/// Data are alike, and so are tasks that do the same with the same data. Each is hashed with what
/// is known of itself, then twice more with the hashes of those that it has to do with.
std::uint64_t Model::key() const {
  std::array<std::uint64_t, most_tasks> of_task{};
  std::array<std::uint64_t, most_places> of_place{};
  for (Index slot = 0; slot < most_tasks; ++slot) {
    of_task[slot] = tasks_[slot].kind == Kind::free ? 0 : key_of_task(slot);
  }
  for (int round = 0; round < 2; ++round) {
    std::array<std::uint64_t, most_places> before = of_place;
    for (Index index = 0; index < most_places; ++index) {
      if (order_.places[index].there) {
        Hash hash;
        add_place(hash, index, before, of_task);
        of_place[index] = hash.value();
      }
    }
    for (Index slot = 0; slot < most_tasks; ++slot) {
      auto const& task = tasks_[slot];
      if (task.kind != Kind::free) {
        Hash hash;
        hash.add(of_task[slot]);
        for (auto const at : task.at) {
          hash.add(at == none ? 0 : of_place[at]);
        }
        hash.add(task.parent == none ? 0 : of_task[task.parent]);
        of_task[slot] = hash.value();
      }
    }
  }
  std::uint64_t places = 0;
  for (auto const one : of_place) {
    places += one * one;
  }
  std::uint64_t tasks = 0;
  for (auto const one : of_task) {
    tasks += one * one;
  }
  Hash hash;
  hash.add(static_cast<std::uint64_t>(divisions_failed_));
  hash.add(places);
  hash.add(tasks);
  hash.add(any_failed_ + 2U * root_failed_ + 4U * group_failed_ + 8U * cancelled_ +
           16U * !root_->failure.empty() + 32U * !group_->failure.empty() +
           64U * static_cast<unsigned>(std::count_if(
                     left_.begin(), left_.end(), [](Left const& left) { return left.state; })));
  return hash.value();
}

std::uint64_t Model::key_of_task(Index slot) const {
  auto const& task = tasks_[slot];
  Hash hash;
  hash.add(static_cast<std::uint64_t>(task.kind) + 8U * static_cast<std::uint64_t>(task.status) +
           64U * task.children + 256U * task.grouped + 512U * task.bound + 1024U * task.launched +
           2048U * task.failed + 4096U * children_failed_[slot] +
           8192U * static_cast<unsigned>(task.contribution));
  if (auto const* const record = task.record; record != nullptr) {
    hash.add(static_cast<std::uint64_t>(record->pending.load()) + 256U * record->failed +
             512U * record->cancelled + 1024U * (setting_.early && launched_.all_before(*record)));
    auto const* const domain = record->domain.load();
    hash.add(domain == nullptr ? 0 : 1 + 2U * !domain->failure.empty());
  }
  if (task.shape != nullptr) {
    for (auto const mode : task.shape->modes) {
      hash.add(static_cast<std::uint64_t>(mode));
    }
  }
  return hash.value();
}

template <class H>
void Model::add_place(H& hash,
                      Index index,
                      std::array<std::uint64_t, most_places> const& of_place,
                      std::array<std::uint64_t, most_tasks> const& of_task) const {
  auto const& place = order_.places[index];
  auto const& datum = data_[place.datum];
  hash.add(place.lost);
  hash.add(place.bad + 2U * place.named + 4U * (datum.division != none) +
           8U * static_cast<unsigned>(place.last) + 64U * static_cast<unsigned>(place.series));
  for (std::size_t k = 0; k < place.count; ++k) {
    auto const& use = place.uses[k];
    hash.add((use.task == none || use.outcome != Outcome::open ? 1 : of_task[use.task]) +
             static_cast<std::uint64_t>(use.mode) + 16U * static_cast<unsigned>(use.outcome) +
             128U * (k != 0 && use.group == place.uses[k - 1].group));
  }
  for (std::size_t n = 0; place.owner == none && n < datum.elements; ++n) {
    hash.add(static_cast<std::uint64_t>(memory_[datum.element + n]));
  }
  hash.add(place.owner == none ? 0 : of_task[place.owner]);
  std::uint64_t related = 0; // its parts and its whole, and the datum below other tasks
  for (Index other = 0; other < most_places; ++other) {
    auto const& of = order_.places[other];
    if (of.there && other != index &&
        (of.datum == place.datum ||
         (of.part_of != none && order_.divisions[of.part_of].whole == index) ||
         (place.part_of != none && order_.divisions[place.part_of].whole == other))) {
      related += of_place[other] * (of_place[other] | 1U);
    }
  }
  hash.add(related);
  if (place.part_of != none) {
    auto const& division = order_.divisions[place.part_of];
    hash.add(1U + division.opened + 2U * division.joined);
  }
  auto const* const queue = queues_[index];
  if (queue == nullptr) {
    return;
  }
  hash.add(queue->active + 16U * queue->waiting + 256U * queue->group_failed +
           512U * queue->token_taken + 1024U * queue->listed.load() + 2048U * queue->poisoned() +
           (std::uint64_t{queue->closed} << 40U) +
           4096U * static_cast<unsigned>(queue->active_mode) +
           65536U * static_cast<unsigned>(queue->last_mode));
  for (auto const* access = queue->head; access != nullptr; access = access->next) {
    hash.add(key_of(*access, of_task));
  }
  if (auto const* const last = queue->last_token_waiter) {
    auto const* access = last;
    do {
      access = access->next;
      hash.add(3 * key_of(*access, of_task));
    } while (access != last);
  }
  for (auto const* spare = queue->spare_merge; spare != nullptr; spare = spare->next) {
    hash.add(7);
  }
  for (auto* copy = queue->copies; copy != nullptr; copy = copy->next) {
    hash.add(5 + static_cast<std::uint64_t>(*static_cast<std::int64_t*>(copy->elements())));
  }
}

std::uint64_t Model::key_of(hs::detail::Access const& access,
                            std::array<std::uint64_t, most_tasks> const& of_task) const {
  auto const slot = slot_of(hs::detail::task_of(const_cast<hs::detail::Access&>(access)));
  return slot == none ? 1 : of_task[slot];
}

// ---- as text ----

std::string violation_of(Setting const& setting, std::vector<Event> const& events) {
  Model model(setting);
  for (auto const& event : events) {
    std::vector<Event> possible;
    model.events(possible);
    if (std::none_of(possible.begin(), possible.end(), [&](Event const& other) {
          return other.step == event.step && other.a == event.a && other.b == event.b &&
                 other.c == event.c;
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

namespace {

std::string name_of(std::size_t datum) {
  return {static_cast<char>('a' + datum)};
}

std::string text_of(Setting const& setting, Event const& event) {
  auto const parent = event.c & 127U;
  auto const& shape = *(parent != 0 ? setting.child_shapes : setting.shapes)[event.a];
  constexpr std::array<char const*, 6> what{
      "reads ", "writes ", "updates ", "commutes on ", "adds to ", "adds in another way to "};
  std::string text = event.c >= 128 ? "a task of the group " : "a task ";
  for (std::size_t k = 0; k < shape.modes.size(); ++k) {
    text += (k == 0 ? "" : ", ") + std::string(what[static_cast<std::size_t>(shape.modes[k])]) +
            name_of(k == 0 ? event.b % 16U : event.b / 16U);
  }
  return text + (parent == 0 ? "" : ", spawned by task " + std::to_string(parent - 1));
}

/// The name of the step, and a sentence of what happens.
std::pair<std::string, std::string> texts_of(Setting const& setting, Event const& event) {
  auto const task = "task " + std::to_string(event.a);
  auto const whose = event.a == none ? std::string() : " of the children of " + task;
  auto const a = name_of(event.a);
  switch (event.step) {
  case Step::spawn:
    return {"spawn", text_of(setting, event)};
  case Step::begin:
    return {"begin", task + " begins, or is skipped"};
  case Step::end:
    return {"end", task + " ends well"};
  case Step::fail:
    return {"fail", task + " fails"};
  case Step::run:
    return {"run", task + " runs, or is skipped"};
  case Step::run_badly:
    return {"run_badly", task + " runs and fails"};
  case Step::merge:
    return {"merge", "merge " + std::to_string(event.a) + " runs"};
  case Step::cancel:
    return {"cancel", "the group is cancelled"};
  case Step::sync_group:
    return {"sync_group", "a sync of the group ends"};
  case Step::merge_all:
    return {"merge_all", "a sync" + whose + " has contributions merged"};
  case Step::sync:
    return {"sync", "a sync" + whose + " ends"};
  case Step::wait:
    return {"wait", "a sync of " + a + " begins"};
  case Step::look:
    return {"look", "it ends, as " + task};
  case Step::partition:
    return {"partition", a + " is partitioned"};
  case Step::join:
    return {"join", a + " is joined"};
  case Step::leave:
    return {"leave", "a partition of what was joined ends"};
  case Step::drop:
    return {"drop", "the last handle of " + a + " goes"};
  case Step::add:
    return {"add", a + " is registered"};
  case Step::launch:
    return {"launch", task + " begins on the device"};
  case Step::follow:
    return {"follow", "the device begins a task that waits for launched ones"};
  case Step::lose:
    return {"lose", a + " is lost with a device"};
  }
  return {};
}

} // namespace

std::string
as_test(Setting const& setting, std::vector<Event> const& events, std::string const& violation) {
  auto text = "TEST_CASE(\"Dataflow: " + violation + "\") {\n  CHECK(violation_of(" + setting.name +
              "(),\n                     {\n";
  for (auto const& event : events) {
    auto const [name, sentence] = texts_of(setting, event);
    text += "                         {Step::" + name;
    for (auto const number : {event.a, event.b, event.c}) {
      text += ", " + std::to_string(number);
    }
    text += ", 0}, // " + sentence + "\n";
  }
  return text + "                     })\n            .empty());\n}\n";
}

} // namespace dataflow_model
