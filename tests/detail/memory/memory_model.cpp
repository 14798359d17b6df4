// SPDX-License-Identifier: MIT
// What happens in the model.

#include "memory_model.hpp"

namespace memory_model {

Model::Model(Setting const& setting)
    : setting_(setting), nodes_(hs::detail::cache_kind<AnyVictim>,
                                std::vector<std::size_t>(devices(), setting.capacity * unit),
                                setting.devices > 1 ? hs::detail::TransferCosts{nullptr, &any_cost}
                                                    : hs::detail::TransferCosts{}) {
  memory_model::choices.begin(0);
  for (std::size_t datum = 0; datum < data(); ++datum) {
    add_datum(datum);
  }
  if (setting_.peers) {
    nodes_.connect(id(1), id(2));
    nodes_.connect(id(2), id(1));
  }
  if (setting_.adopted) {
    nodes_.adopt(*data_[0].replicas, id(1), setting.capacity * unit);
    new_version(0, 1);
  }
}

Model::~Model() {
  while (!transfers_.empty()) {
    nodes_.finished(transfers_.back().copy, false);
    transfers_.pop_back();
  }
}

void Model::add_datum(std::size_t index) {
  auto& replicas =
      *replicas_.emplace_back(std::make_unique<Replicas>(keeper_, nodes_.node_count()));
  replicas.width = replicas.pitch = setting_.sizes[index] * unit;
  replicas.columns = 1;
  nodes_.add(replicas);
  data_[index] = {};
  data_[index].replicas = &replicas;
  data_[index].good[0] = true;
}

void Model::fail(char const* what, std::size_t datum) {
  if (violation_.empty()) {
    violation_ = datum == most_data ? "" : datum_name(datum) + ": ";
    violation_ += what;
  }
}

// ---- what may happen ----

std::size_t Model::index_of(Replicas const* replicas) const {
  for (std::size_t datum = 0; datum < data(); ++datum) {
    if (data_[datum].replicas == replicas) {
      return datum;
    }
  }
  return most_data;
}

/// Whether somebody's use of the datum excludes another. A task may follow launched tasks on the
/// same device that write the datum.
bool Model::in_use(std::size_t datum, unsigned use, std::size_t follower_at) const {
  auto const& of = data_[datum];
  if (sync_) {
    return true;
  }
  if (of.wanted != Step::commit) {
    bool const host_writes = of.wanted != Step::read && of.wanted != Step::evict;
    if (host_writes || (use & writes) != 0) {
      return true;
    }
  }
  if (abortable_ != 0) {
    auto const other = use_of(abortable_, datum);
    if (other != 0 && ((other | use) & writes) != 0) {
      return true;
    }
  }
  for (std::size_t node = 1; node <= devices(); ++node) {
    for (auto const& task : windows_[node]) {
      auto const other = use_of(task.uses, datum);
      if (task.attempt || other == 0 || ((other | use) & writes) == 0) {
        continue;
      }
      bool const followed = node == follower_at && !setting_.aborts &&
                            task.stage == Stage::launched && (other & writes) != 0;
      if (!followed) {
        return true;
      }
    }
  }
  return false;
}

bool Model::may_use(Uses uses, std::size_t follower_at) const {
  for (std::size_t datum = 0; datum < data(); ++datum) {
    if (use_of(uses, datum) != 0 && in_use(datum, use_of(uses, datum), follower_at)) {
      return false;
    }
  }
  return true;
}

/// Whether tasks have to leave the window before it admits or begins any.
bool Model::has_leavers(std::size_t node) const {
  return std::any_of(windows_[node].begin(), windows_[node].end(), [](Task const& task) {
    return task.undone || (task.overtaken && task.stage != Stage::launched);
  });
}

/// Whether the task uses data that a launched task before it in the window writes.
bool Model::follows_any(std::size_t node, std::size_t which) const {
  auto const& window = windows_[node];
  for (std::size_t before = 0; before < which; ++before) {
    for (std::size_t datum = 0; datum < data(); ++datum) {
      if (window[before].stage == Stage::launched &&
          (use_of(window[before].uses, datum) & writes) != 0 &&
          use_of(window[which].uses, datum) != 0 &&
          window[before].data[datum] == window[which].data[datum]) {
        return true;
      }
    }
  }
  return false;
}

bool Model::written_in_place(std::size_t datum, std::size_t node) const {
  auto const& window = windows_[node];
  return std::any_of(window.begin(), window.end(), [&](Task const& task) {
    return task.stage == Stage::launched && (use_of(task.uses, datum) & writes) != 0 &&
           task.data[datum] == data_[datum].replicas;
  });
}

/// In units, without what has a place outside the arena.
std::size_t Model::footprint(Uses uses, std::size_t node) const {
  std::size_t units = 0;
  for (std::size_t datum = 0; datum < data(); ++datum) {
    bool const outside = data_[datum].replicas->home == id(node) && node != 0;
    units += use_of(uses, datum) != 0 && !outside ? setting_.sizes[datum] : 0;
  }
  return units;
}

/// Whether the task must be admitted if nothing else is in the device: the memory between pinned
/// data has it in one piece.
bool Model::fits(Uses uses, std::size_t node) const {
  std::vector<std::pair<std::size_t, std::size_t>> pinned; // offset and end
  auto needed = footprint(uses, node);
  for (std::size_t datum = 0; datum < data(); ++datum) {
    auto const& replicas = *data_[datum].replicas;
    if (replicas.at(id(node)).user_pins > 0 && replicas.home != id(node)) {
      auto const begin = offset(replicas, node) / unit;
      pinned.emplace_back(begin, begin + setting_.sizes[datum]);
      needed -= use_of(uses, datum) != 0 ? setting_.sizes[datum] : 0;
    }
  }
  pinned.emplace_back(setting_.capacity, setting_.capacity);
  std::sort(pinned.begin(), pinned.end());
  std::size_t largest = 0;
  std::size_t free = 0;
  for (auto const& [begin, end] : pinned) {
    largest = std::max(largest, begin - free);
    free = end;
  }
  return needed <= largest;
}

void Model::events(std::vector<Event>& out) const {
  auto const add = [&](Step step, std::size_t a, std::size_t b = 0) {
    out.push_back({step, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), 0});
  };
  for (std::size_t node = 1; node <= devices(); ++node) {
    events_of_window(node, out);
  }
  for (std::size_t k = 0; k < transfers_.size(); ++k) {
    add(Step::arrive, k);
    add(Step::miss, k);
    if (!transfers_[k].copy->evicts) {
      add(Step::give_up, k);
    }
  }
  for (std::size_t datum = 0; datum < data(); ++datum) {
    events_of_datum(datum, out);
  }
  if (abortable_ != 0) {
    add(on_host_ ? Step::host_wins : Step::host_attempt, 0);
  }
  if (sync_) {
    add(Step::look_all, 0);
  } else if (setting_.syncs && may_sync()) {
    add(Step::sync, 0);
  }
}

/// Whether nobody uses any datum.
bool Model::may_sync() const {
  for (std::size_t datum = 0; datum < data(); ++datum) {
    if (in_use(datum, reads | writes) || data_[datum].wanted != Step::commit) {
      return false;
    }
  }
  return true;
}

void Model::events_of_window(std::size_t node, std::vector<Event>& out) const {
  auto const add = [&](Step step, std::size_t b = 0) {
    out.push_back({step, static_cast<std::uint8_t>(node), static_cast<std::uint8_t>(b), 0});
  };
  auto const& window = windows_[node];
  auto const lost = lost_[node];
  auto const in_stage = [&](Stage stage) {
    return std::any_of(
        window.begin(), window.end(), [&](Task const& task) { return task.stage == stage; });
  };
  auto const has_attempt = std::any_of(window.begin(), window.end(), [](Task const& task) {
    return task.attempt && !task.overtaken;
  });
  if (!lost && window.size() < setting_.window) {
    for (auto const uses : setting_.tasks) {
      if (footprint(uses, node) > setting_.capacity) {
        continue;
      }
      if (may_use(uses, node)) {
        add(Step::commit, uses);
      }
      bool const joins = uses == abortable_ && !has_attempt;
      if (setting_.attempts && (joins || (abortable_ == 0 && may_use(uses, 0)))) {
        add(Step::attempt, uses);
      }
    }
    for (std::size_t datum = 0; setting_.pins && datum < data(); ++datum) {
      if (data_[datum].replicas->at(id(node)).user_pins < 1 && !in_use(datum, reads)) {
        add(Step::pin, datum);
      }
    }
  }
  if (!lost && !has_leavers(node) && in_stage(Stage::committed)) {
    add(Step::admit);
  }
  for (std::size_t k = 0; k < window.size(); ++k) {
    auto const& task = window[k];
    bool const launched = task.stage == Stage::launched;
    if (task.stage == Stage::admitted && !lost && !has_leavers(node)) {
      add(Step::begin, k);
    }
    if (launched && !follows_any(node, k)) {
      if (!lost && !task.undone && !task.overtaken) {
        add(Step::end, k);
      }
      if (!task.pins) {
        add(Step::fail, k);
      }
      if (setting_.aborts && !lost) {
        add(Step::cancel, k);
      }
    }
    if (!launched && (lost || task.undone || task.overtaken || setting_.aborts)) {
      add(Step::leave, k);
    }
  }
  if (!lost && setting_.losses) {
    add(Step::lose);
  }
}

void Model::events_of_datum(std::size_t datum, std::vector<Event>& out) const {
  auto const add = [&](Step step, std::size_t a, std::size_t b = 0) {
    out.push_back({step, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), 0});
  };
  auto const& of = data_[datum];
  auto const free_to_read = !in_use(datum, reads);
  auto const free_to_write = !in_use(datum, reads | writes);
  for (std::size_t node = 1; node <= devices(); ++node) {
    if (!lost_[node] && !in_use(datum, reads, node)) {
      add(Step::prefetch, node, datum);
    }
    if (of.replicas->at(id(node)).block != hs::no_block && free_to_read &&
        of.wanted == Step::commit) {
      add(Step::evict, node, datum);
    }
    if (setting_.pins && free_to_read && of.replicas->at(id(node)).user_pins >= 0) {
      add(Step::unpin, node, datum);
    }
  }
  if (of.wanted != Step::commit) {
    add(Step::look, datum);
    return;
  }
  if (free_to_read) {
    add(Step::read, datum);
  }
  if (free_to_write) {
    add(Step::update, datum);
    add(Step::write, datum);
    add(Step::home, datum);
  }
  if ((free_to_write || sync_) && of.replicas->copies_moving == 0) {
    add(Step::forget, datum);
  }
}

// ---- what happens ----

void Model::apply(Event const& event) {
  memory_model::choices.begin(event.choices);
  AnyVictim::misused = false;
  std::size_t const a = event.a;
  std::size_t const b = event.b;
  switch (event.step) {
  case Step::commit:
  case Step::attempt:
    commit(a, event.b, event.step);
    break;
  case Step::pin:
    commit(a, static_cast<Uses>(reads) << (2 * b), event.step);
    break;
  case Step::admit:
    admit(a);
    break;
  case Step::begin:
    begin(a, b);
    break;
  case Step::end:
    end(a, b, true);
    break;
  case Step::fail:
    end(a, b, false);
    break;
  case Step::cancel:
  case Step::leave:
    take_back(a, b);
    break;
  case Step::arrive:
    finish(a, true);
    break;
  case Step::miss:
    finish(a, false);
    break;
  case Step::give_up:
    give_up(a);
    break;
  case Step::read:
  case Step::update:
  case Step::write:
  case Step::home:
    data_[a].wanted = event.step;
    look(a);
    break;
  case Step::evict:
    data_[b].wanted = event.step;
    data_[b].evicted_from = a;
    look(b);
    break;
  case Step::look:
    look(a);
    break;
  case Step::sync:
    sync();
    break;
  case Step::look_all:
    look_for_all();
    break;
  case Step::prefetch:
    nodes_.prefetch(*data_[b].replicas, id(a));
    break;
  case Step::unpin:
    nodes_.unpin_user(*data_[b].replicas, id(a));
    break;
  case Step::lose:
    lose(a);
    break;
  case Step::forget:
    forget(a);
    break;
  case Step::host_attempt:
    host_attempt(false);
    break;
  case Step::host_wins:
    host_attempt(true);
    break;
  }
  start_transfers();
  must(!AnyVictim::misused, "the cache policy is misused");
  for (std::size_t datum = 0; datum < data(); ++datum) {
    auto& of = data_[datum];
    for (std::size_t node = 1; node <= devices(); ++node) {
      of.good[node] = of.good[node] && of.replicas->at(id(node)).block != hs::no_block;
    }
  }
}

/// `kind`: commit, attempt or pin.
void Model::commit(std::size_t node, Uses uses, Step kind) {
  Task task;
  task.uses = uses;
  task.pins = kind == Step::pin;
  task.attempt = kind == Step::attempt;
  for (std::size_t datum = 0; datum < data(); ++datum) {
    if (auto const use = use_of(uses, datum); use != 0) {
      task.data[datum] = data_[datum].replicas;
      task.needs.push_back({data_[datum].replicas, (use & reads) != 0, (use & writes) != 0, 0});
    }
  }
  if (task.attempt) {
    abortable_ = uses;
  }
  windows_[node].push_back(std::move(task));
  if (!has_leavers(node)) {
    admit(node);
  }
}

/// Admits the first task that waits for that.
void Model::admit(std::size_t node) {
  auto& window = windows_[node];
  auto const task = std::find_if(window.begin(), window.end(), [](Task const& candidate) {
    return candidate.stage == Stage::committed;
  });
  if (task == window.end()) {
    return;
  }
  bool const alone = task == window.begin();
  switch (nodes_.admit(id(node), nullptr, task->needs, alone)) {
  case MemoryNodes::Admission::admitted:
    task->stage = Stage::admitted;
    if (task->attempt) {
      nodes_.hold(id(node), task->needs);
    }
    for (auto* const fresh : nodes_.fresh()) {
      data_[index_of(fresh)].good[node] = false;
    }
    break;
  case MemoryNodes::Admission::later:
    break;
  case MemoryNodes::Admission::never:
    must(!fits(task->uses, node) || some_cannot_leave(), "a task that fits is refused for good");
    remove_task(node, static_cast<std::size_t>(task - window.begin()));
    break;
  }
}

/// Whether transfers of a datum have failed so often that no more are tried.
bool Model::some_cannot_leave() const {
  constexpr int most_failed = 3;
  for (auto const* datum = nodes_.first(); datum != nullptr; datum = datum->next) {
    if (datum->failed_copies > most_failed) {
      return true;
    }
  }
  return false;
}

void Model::begin(std::size_t node, std::size_t which) {
  auto& task = windows_[node][which];
  auto const arrival = task.attempt ? nodes_.ready_to_attempt(id(node), task.needs)
                                    : nodes_.ready(id(node), task.needs);
  if (arrival == MemoryNodes::Arrival::coming) {
    return;
  }
  if (arrival == MemoryNodes::Arrival::failed) {
    must(std::any_of(task.needs.begin(),
                     task.needs.end(),
                     [&](Need const& need) {
                       return need.reads &&
                              (need.datum->lost || data_[index_of(need.datum)].fails > most_fails);
                     }),
         "a task is refused whose data are to be had");
    take_back(node, which);
    return;
  }
  for (std::size_t datum = 0; datum < data(); ++datum) {
    auto const use = use_of(task.uses, datum);
    if (use == 0) {
      continue;
    }
    auto& of = data_[datum];
    bool const written = written_in_place(datum, node);
    must(of.replicas->at(id(node)).block != hs::no_block, "a task begins without a place", datum);
    if ((use & reads) != 0) {
      must(of.good[node] || (written && !task.attempt), "a task reads an old version", datum);
    }
    if ((use & writes) != 0) {
      must(std::none_of(
               transfers_.begin(),
               transfers_.end(),
               [&](Transfer const& transfer) { return transfer.copy->datum == of.replicas; }),
           "a task begins to write what is being transferred",
           datum);
      must(of.replicas->at(id(node)).unsettled == 0, "a task writes where another computes", datum);
    }
    if (task.attempt && use == (reads | writes)) {
      must(std::count(of.good.begin(), of.good.end(), true) > 1,
           "an attempt overwrites the only copy",
           datum);
    }
    task.places[datum] = offset(*of.replicas, node);
    task.before[datum] = of.good[node];
  }
  if (task.attempt) {
    nodes_.begin_attempt(id(node), task.needs);
  } else {
    nodes_.begin(id(node), task.needs);
  }
  task.stage = Stage::launched;
  for (std::size_t datum = 0; datum < data(); ++datum) {
    if ((use_of(task.uses, datum) & writes) != 0) {
      data_[datum].good[node] = false;
    }
  }
}

void Model::remove_task(std::size_t node, std::size_t which) {
  auto& window = windows_[node];
  bool const attempt = window[which].attempt && !window[which].overtaken;
  window.erase(window.begin() + static_cast<std::ptrdiff_t>(which));
  if (attempt) {
    end_abortable();
  }
}

/// If the last attempt was given up, so is the task.
void Model::end_abortable() {
  for (auto const& window : windows_) {
    if (std::any_of(window.begin(), window.end(), [](Task const& task) {
          return task.attempt && !task.overtaken;
        })) {
      return;
    }
  }
  if (!on_host_) {
    abortable_ = 0;
  }
}

void Model::end(std::size_t node, std::size_t which, bool done) {
  auto& window = windows_[node];
  auto task = window[which];
  if (done && task.pins) {
    nodes_.pin_user(*task.needs.front().datum, id(node));
  }
  if (task.attempt) {
    nodes_.end_attempt(id(node), task.needs, true, done);
  } else {
    nodes_.end(id(node), task.needs, done);
  }
  window[which].uses = 0; // it does not write in place any more
  for (std::size_t datum = 0; datum < data(); ++datum) {
    auto const use = use_of(task.uses, datum);
    if (done && use == reads) {
      must(data_[datum].good[node], "what a task reads changes meanwhile", datum);
    }
    if (done && (use & writes) != 0) {
      new_version(datum, node);
      // a follower may have begun to overwrite it
      data_[datum].good[node] = !written_in_place(datum, node);
    }
  }
  if (!done && !task.attempt) {
    for (auto later = which + 1; later < window.size(); ++later) {
      for (std::size_t datum = 0; datum < data(); ++datum) {
        window[later].undone = window[later].undone || ((use_of(task.uses, datum) & writes) != 0 &&
                                                        use_of(window[later].uses, datum) != 0);
      }
    }
  }
  if (done && task.attempt) {
    abortable_ = 0;
    on_host_ = false;
    for (auto& others : windows_) {
      for (auto& other : others) {
        other.overtaken = other.attempt;
      }
    }
  }
  remove_task(node, which);
}

/// The task leaves the window, and has written nothing.
void Model::take_back(std::size_t node, std::size_t which) {
  auto const task = windows_[node][which];
  if (task.attempt && task.stage != Stage::committed) {
    nodes_.end_attempt(id(node), task.needs, false, false);
  } else if (task.stage == Stage::admitted) {
    nodes_.leave(id(node), task.needs);
  } else if (task.stage == Stage::launched) {
    nodes_.cancel(id(node), task.needs);
    for (std::size_t datum = 0; datum < data(); ++datum) {
      if ((use_of(task.uses, datum) & writes) != 0) {
        data_[datum].good[node] = task.before[datum];
      }
    }
  }
  remove_task(node, which);
}

/// The node has the only copy of a new version.
void Model::new_version(std::size_t datum, std::size_t node) {
  auto& of = data_[datum];
  of.good = {};
  of.good[node] = true;
  of.fails = 0;
  for (auto& transfer : transfers_) {
    transfer.good = transfer.good && transfer.copy->datum != of.replicas;
  }
}

// ---- transfers ----

void Model::start_transfers() {
  while (auto* const copy = nodes_.next_copy()) {
    start(*copy);
  }
}

void Model::start(Copy& copy) {
  auto const from = at(copy.from);
  auto const to = at(copy.to);
  auto const datum = index_of(copy.datum);
  must(datum != most_data, "a transfer of a forgotten datum");
  if (datum == most_data) {
    return;
  }
  auto const& of = data_[datum];
  must(!lost_[from] && !lost_[to], "a transfer from or to a lost device", datum);
  must(!written_in_place(datum, from) && !written_in_place(datum, to),
       "a transfer of what a task writes",
       datum);
  must(std::none_of(transfers_.begin(),
                    transfers_.end(),
                    [&](Transfer const& other) {
                      return other.copy->datum == copy.datum && other.copy->to == copy.to;
                    }),
       "two transfers to one place",
       datum);
  must(std::none_of(transfers_.begin(),
                    transfers_.end(),
                    [&](Transfer const& other) {
                      return other.datum == datum && other.copy->from == copy.to;
                    }),
       "a transfer to where another comes from",
       datum);
  transfers_.push_back(
      {&copy, datum, of.good[from], offset(*of.replicas, from), offset(*of.replicas, to)});
  if (lost_[to == 0 ? from : to]) {
    finish(transfers_.size() - 1, false);
  }
}

void Model::finish(std::size_t which, bool done) {
  auto const transfer = transfers_[which];
  transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(which));
  auto const to = at(transfer.copy->to);
  auto const datum = transfer.datum;
  auto& of = data_[datum];
  of.good[to] = done && transfer.good && !lost_[to];
  of.fails = done ? 0 : of.fails + 1;
  nodes_.finished(transfer.copy, done);
}

void Model::give_up(std::size_t which) {
  auto& replicas = *transfers_[which].copy->datum;
  auto const to = transfers_[which].copy->to;
  finish(which, false);
  for (int k = 0; k < 2 * most_fails; ++k) {
    auto const place = at(to) == 0 || replicas.at(to).block != hs::no_block;
    if (!place || nodes_.request(replicas, to) != MemoryNodes::Arrival::coming) {
      return;
    }
    start_transfers();
    auto const again =
        std::find_if(transfers_.begin(), transfers_.end(), [&](Transfer const& transfer) {
          return transfer.copy->datum == &replicas;
        });
    if (again == transfers_.end()) {
      return;
    }
    finish(static_cast<std::size_t>(again - transfers_.begin()), false);
  }
  must(false, "a transfer that fails is tried again for ever", index_of(&replicas));
}

// ---- the program's own uses ----

/// The host looks whether what it wants of the datum is there.
void Model::look(std::size_t datum) {
  auto& of = data_[datum];
  auto& replicas = *of.replicas;
  if (of.wanted == Step::write) {
    if (replicas.copies_moving == 0) {
      take(datum, 0);
    }
    return;
  }
  if (of.wanted == Step::evict) {
    auto const arrival = nodes_.request(replicas, hs::host_node);
    start_transfers();
    if (arrival == MemoryNodes::Arrival::here) {
      nodes_.evict(replicas, id(of.evicted_from));
    }
    if (arrival != MemoryNodes::Arrival::coming) {
      found(replicas, Step::evict, arrival == MemoryNodes::Arrival::failed, hs::host_node);
      of.wanted = Step::commit;
    }
    return;
  }
  if (!of.bringing) {
    bool const home = of.wanted == Step::home;
    of.bringing.emplace(nodes_,
                        std::span(&of.replicas, 1),
                        home ? Destination::home : Destination::host,
                        of.wanted != Step::read,
                        home);
    of.bringing->ask();
  }
  if (go_on(*of.bringing, std::span(&of.replicas, 1), of.wanted)) {
    of.bringing.reset();
    of.wanted = Step::commit;
  }
}

/// Whether all are there, or missing.
bool Model::go_on(Bringing& bringing, std::span<Replicas* const> data, Step wanted) {
  auto const before = bringing.over();
  std::array<bool, most_data> missing{};
  std::array<NodeId, most_data> goals{};
  for (auto k = before; k < data.size(); ++k) {
    bool const home = wanted == Step::home && !data[k]->home_lost;
    goals[k] = home ? data[k]->home : hs::host_node;
  }
  auto const* const coming = bringing.next(
      [&](Replicas& replicas, NodeId at) {
        auto const k = std::find(data.begin(), data.end(), &replicas) - data.begin();
        missing[static_cast<std::size_t>(k)] = true;
        goals[static_cast<std::size_t>(k)] = at;
        auto const& of = data_[index_of(&replicas)];
        must(replicas.lost || of.fails > most_fails || lost_[this->at(at)],
             "the host is refused what is to be had",
             index_of(&replicas));
      },
      [](Replicas&) {},
      [](Replicas const&) { return false; }); // no task on the host but the one that waits
  start_transfers();
  for (auto k = before; k < bringing.over(); ++k) {
    if (!data[k]->forgotten) {
      found(*data[k], wanted, missing[k], goals[k]);
    }
  }
  return coming == nullptr;
}

/// The host has what it wants at a node, or knows that it is missing.
void Model::found(Replicas& replicas, Step wanted, bool missing, NodeId at) {
  auto const datum = index_of(&replicas);
  auto& of = data_[datum];
  bool const home = wanted == Step::home;
  if (missing) {
    misses_ += home ? 1 : 0;
    must(!home || !replicas.lost, "the program was told of a loss, and it stays lost", datum);
    of.fails = wanted == Step::evict ? of.fails : 0;
    if (home && std::count(of.good.begin(), of.good.end(), true) == 0) {
      // What the program's memory holds is the value.
      new_version(datum, replicas.home_lost ? 0 : this->at(at));
    }
    return;
  }
  must(of.good[this->at(at)], "the host reads an old version", datum);
  if (home || wanted == Step::update) {
    must(replicas.writers == 0, "the host writes what a task writes", datum);
    must(replicas.copies_moving == 0, "the host writes what is being transferred", datum);
    new_version(datum, this->at(at));
  }
}

/// The program wants all data where it registered them.
void Model::sync() {
  for (std::size_t datum = 0; datum < data(); ++datum) {
    synced_[datum] = data_[datum].replicas;
  }
  sync_.emplace(nodes_, std::span(synced_.data(), data()), Destination::home, true, true);
  sync_->ask();
  look_for_all();
}

void Model::look_for_all() {
  if (go_on(*sync_, std::span(synced_.data(), data()), Step::home)) {
    sync_.reset();
  }
}

/// The host, or the program at the datum's home, writes it.
void Model::take(std::size_t datum, std::size_t node) {
  must(data_[datum].replicas->writers == 0, "the host writes what a task writes", datum);
  nodes_.program_takes(*data_[datum].replicas, id(node));
  new_version(datum, node);
  data_[datum].wanted = Step::commit;
}

void Model::forget(std::size_t datum) {
  auto& replicas = *data_[datum].replicas;
  nodes_.remove(replicas);
  replicas.forgotten = true;
  add_datum(datum);
}

void Model::lose(std::size_t node) {
  lost_[node] = true;
  nodes_.lose_copies(id(node));
  for (auto& datum : data_) {
    datum.good[node] = false;
  }
}

/// The host's attempt at the abortable task. It needs what the task reads, and when it wins, it
/// writes what the task writes.
void Model::host_attempt(bool wins) {
  bool here = true;
  bool failed = false;
  for (std::size_t datum = 0; datum < data(); ++datum) {
    auto const use = use_of(abortable_, datum);
    auto& replicas = *data_[datum].replicas;
    if ((use & reads) != 0) {
      auto const arrival = nodes_.request(replicas, hs::host_node);
      start_transfers();
      here = here && arrival == MemoryNodes::Arrival::here;
      failed = failed || arrival == MemoryNodes::Arrival::failed || replicas.lost;
    }
    here = here && ((use & writes) == 0 || replicas.copies_moving == 0);
  }
  on_host_ = !failed;
  if (failed) {
    end_abortable();
    return;
  }
  if (!wins || !here) {
    return;
  }
  for (std::size_t datum = 0; datum < data(); ++datum) {
    auto const use = use_of(abortable_, datum);
    if ((use & reads) != 0) {
      must(data_[datum].good[0], "the host's attempt reads an old version", datum);
    }
    if ((use & writes) != 0) {
      take(datum, 0);
    }
  }
  abortable_ = 0;
  on_host_ = false;
  for (auto& window : windows_) {
    for (auto& task : window) {
      task.overtaken = task.attempt;
    }
  }
}

// ---- all comes to its end ----

bool Model::idle() const {
  return transfers_.empty() && !on_host_ && !sync_ &&
         std::all_of(windows_.begin(),
                     windows_.end(),
                     [](std::vector<Task> const& window) { return window.empty(); }) &&
         std::all_of(data_.begin(), data_.end(), [](Datum const& datum) {
           return datum.wanted == Step::commit;
         });
}

void Model::settle_window(std::size_t node) {
  auto& window = windows_[node];
  for (std::size_t k = 0; k < window.size();) {
    if (window[k].stage == Stage::launched) {
      end(node, k, !lost_[node] && !window[k].undone && !window[k].overtaken);
    } else if (lost_[node] || window[k].undone || window[k].overtaken) {
      take_back(node, k);
    } else {
      ++k;
    }
  }
  if (lost_[node]) {
    return;
  }
  for (std::size_t k = 0; k < setting_.window; ++k) {
    admit(node);
  }
  for (auto k = window.size(); k-- > 0;) {
    if (window[k].stage == Stage::admitted) {
      begin(node, k);
    }
  }
}

/// Each transfer arrives, each task ends, and the host looks again, in turn.
void Model::settle() {
  for (int round = 0; round < 16 && !idle() && violation_.empty(); ++round) {
    start_transfers();
    while (!transfers_.empty()) {
      auto const& copy = *transfers_.front().copy;
      finish(0, !lost_[at(copy.to == hs::host_node ? copy.from : copy.to)]);
      start_transfers();
    }
    for (std::size_t node = 1; node <= devices(); ++node) {
      settle_window(node);
    }
    for (std::size_t datum = 0; datum < data(); ++datum) {
      if (data_[datum].wanted != Step::commit) {
        look(datum);
      }
    }
    if (sync_) {
      look_for_all();
    }
    if (on_host_) {
      host_attempt(true);
    }
    start_transfers();
  }
  must(!sync_, "a sync waits for ever");
  for (std::size_t datum = 0; datum < data(); ++datum) {
    must(data_[datum].wanted == Step::commit, "the host waits for it for ever", datum);
  }
  must(idle(), "a task waits for ever");
  check();
}

/// Then the host reads everything, each device takes the largest tasks that fit, and the host reads
/// everything again.
void Model::complete() {
  memory_model::choices.begin(0);
  settle();
  auto const read_all = [&] {
    for (std::size_t datum = 0; datum < data(); ++datum) {
      data_[datum].wanted = Step::read;
    }
    settle();
  };
  read_all();
  for (std::size_t node = 1; node <= devices(); ++node) {
    Uses uses = 0;
    for (std::size_t datum = 0; datum < data() && !lost_[node]; ++datum) {
      auto const more = uses | (static_cast<Uses>(writes) << (2 * datum));
      uses = footprint(more, node) <= setting_.capacity && fits(more, node) ? more : uses;
    }
    if (uses != 0) {
      commit(node, uses, Step::commit);
      settle();
    }
  }
  read_all();
  if (setting_.syncs && violation_.empty()) {
    sync();
    settle();
    misses_ = 0;
    sync();
    settle();
    must(misses_ == 0, "a sync names what an earlier one has named");
  }
}

} // namespace memory_model
