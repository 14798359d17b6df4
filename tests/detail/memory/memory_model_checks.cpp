// SPDX-License-Identifier: MIT
// What must hold in the model, which of its states are equal, and its sequences as text.

#include "memory_model.hpp"

#include <bit>

namespace memory_model {

// ---- what must hold ----

/// Whether a place of the transfer has.
bool Model::has_moved(Transfer const& transfer) const {
  auto const& copy = *transfer.copy;
  return transfer.from_offset != offset(*copy.datum, at(copy.from)) ||
         transfer.to_offset != offset(*copy.datum, at(copy.to));
}

int Model::awaited() const {
  return static_cast<int>(
      std::count_if(transfers_.begin(), transfers_.end(), [](Transfer const& transfer) {
        auto const& copy = *transfer.copy;
        return copy.to != hs::host_node && !copy.datum->at(copy.to).ahead;
      }));
}

void Model::check() {
  std::array<Counts, most_data> counts{};
  must(nodes_.awaited() == awaited(), "transfers that somebody waits for are miscounted");
  for (auto const& transfer : transfers_) {
    auto const& copy = *transfer.copy;
    auto& of = counts[transfer.datum];
    ++of.moving;
    of.coming = of.coming || transfer.good;
    ++of.at[at(copy.from)].sending;
    ++of.at[at(copy.from)].pins;
    ++of.at[at(copy.to)].pins;
    of.at[at(copy.to)].arriving = &copy;
    must(!has_moved(transfer), "a place moves during a transfer");
  }
  count_tasks(counts);
  for (std::size_t datum = 0; datum < data(); ++datum) {
    check_datum(datum, counts[datum]);
  }
  for (std::size_t node = 1; node <= devices(); ++node) {
    check_arena(node);
  }
}

void Model::count_tasks(std::array<Counts, most_data>& counts) const {
  for (std::size_t node = 1; node <= devices(); ++node) {
    for (auto const& task : windows_[node]) {
      bool const launched = task.stage == Stage::launched;
      for (std::size_t datum = 0; task.stage != Stage::committed && datum < data(); ++datum) {
        if (task.data[datum] != data_[datum].replicas) {
          continue;
        }
        auto& users = counts[datum].at[node];
        ++users.pins;
        users.attempts += task.attempt ? 1 : 0;
        users.unsettled += task.attempt && launched ? 1 : 0;
        bool const written = (use_of(task.uses, datum) & writes) != 0;
        counts[datum].writers += !task.attempt && launched && written ? 1 : 0;
      }
    }
  }
}

void Model::check_datum(std::size_t datum, Counts const& counts) {
  auto& of = data_[datum];
  auto const& replicas = *of.replicas;
  must(replicas.copies_moving == counts.moving, "transfers are miscounted", datum);
  must(replicas.writers == counts.writers, "writers are miscounted", datum);
  bool any_valid = false;
  for (std::size_t node = 0; node <= devices(); ++node) {
    bool const valid = replicas.valid_at(id(node));
    if (replicas.lost) {
      must(!of.good[node] && !valid, "it is said to be lost, and is not", datum);
    } else if (valid) {
      must(of.good[node] || written_in_place(datum, node), "an old version is valid", datum);
      must(!lost_[node], "a copy on a lost device is valid", datum);
      any_valid = true;
    }
    check_place(replicas, node, counts.at[node], false);
  }
  if (replicas.lost) {
    must(!counts.coming, "it is said to be lost, and is on its way", datum);
  } else {
    must(any_valid || counts.moving != 0, "it is lost, and that is not said", datum);
  }
}

/// `gone`: the datum is forgotten, and only attempts hold the place.
void Model::check_place(Replicas const& replicas, std::size_t node, Users users, bool gone) {
  auto const& replica = replicas.at(id(node));
  must(replica.sending == users.sending, "transfers from a place are miscounted");
  must(replica.arriving == users.arriving, "a place does not know the transfer to it");
  if (node == 0) {
    return;
  }
  must(replica.attempts == users.attempts && replica.unsettled == users.unsettled,
       "attempts are miscounted");
  if (replica.block == hs::no_block) {
    must(!replicas.valid_at(id(node)), "a copy without a place is valid");
    must(users.pins == 0, "what is pinned has no place");
    return;
  }
  auto const& block = nodes_.node(id(node)).block(replica.block);
  if (!gone) {
    users.pins += std::max(replica.user_pins, 0) + (block.outside ? 1 : 0);
  }
  must(block.owner == &replicas, "a place belongs to another datum");
  must(block.pins == users.pins, "pins are miscounted");
  must(users.pins != 0 || replicas.valid_at(id(node)), "a place that nobody needs is kept");
  must(block.outside || block.offset + replicas.bytes() <= setting_.capacity * unit,
       "a place is outside the memory");
  for (auto const& task : windows_[node]) {
    for (std::size_t datum = 0; task.stage == Stage::launched && datum < data(); ++datum) {
      must(task.data[datum] != &replicas || task.places[datum] == block.offset,
           "a place moves under a task");
    }
  }
}

/// A datum that is forgotten. Attempts that have lost may still compute in its place.
void Model::check_forgotten(Replicas const& replicas, std::size_t node) {
  Users users;
  for (auto const& task : windows_[node]) {
    bool const has_place = task.stage != Stage::committed &&
                           std::count(task.data.begin(), task.data.end(), &replicas) != 0;
    users.pins += has_place ? 1 : 0;
    users.attempts += has_place ? 1 : 0;
    users.unsettled += has_place && task.stage == Stage::launched ? 1 : 0;
  }
  check_place(replicas, node, users, true);
}

void Model::check_arena(std::size_t node) {
  std::size_t used = 0; // a bit for each unit
  auto const add = [&](Replicas const& replicas) {
    auto const block = replicas.at(id(node)).block;
    if (block == hs::no_block || nodes_.node(id(node)).block(block).outside) {
      return;
    }
    auto const units = ((std::size_t{1} << (replicas.bytes() / unit)) - 1)
                       << (nodes_.offset(replicas, id(node)) / unit);
    must((used & units) == 0, "two places overlap");
    used |= units;
  };
  for (auto const& replicas : replicas_) {
    if (!replicas->forgotten) {
      add(*replicas);
    } else if (replicas->at(id(node)).block != hs::no_block) {
      add(*replicas);
      check_forgotten(*replicas, node);
    }
  }
  std::size_t leaving = 0;
  int moving = 0;
  for (auto const& transfer : transfers_) {
    auto const& copy = *transfer.copy;
    moving += at(copy.from) == node || at(copy.to) == node ? 1 : 0;
    leaving += copy.evicts && at(copy.from) == node ? copy.datum->bytes() : 0;
  }
  auto const& memory = nodes_.node(id(node));
  must(memory.arena.unused() ==
           (setting_.capacity - static_cast<std::size_t>(std::popcount(used))) * unit,
       "memory leaks");
  must(memory.moving == moving, "the transfers of a device are miscounted");
  must(memory.leaving == leaving, "what leaves a device is miscounted");
}

// ---- equal states ----

namespace {

/// Of a row of small numbers.
class RowHash {
public:
  void add(std::size_t number) noexcept {
    word_ = word_ << 8U | (number & 0xffU);
    if (++count_ % 8 == 0) {
      mix();
    }
  }

  void add_word(std::uint64_t word) noexcept {
    std::swap(word, word_);
    mix();
    word_ = word;
  }

  [[nodiscard]] std::uint64_t value() noexcept {
    word_ = word_ << 8U | (count_ & 0xffU);
    mix();
    mix();
    return hash_;
  }

private:
  void mix() noexcept {
    hash_ = (hash_ ^ word_) * 0x9e3779b97f4a7c15U;
    hash_ ^= hash_ >> 29U;
    hash_ *= 0xbf58476d1ce4e5b9U;
    hash_ ^= hash_ >> 32U;
    word_ = 0;
  }

  std::uint64_t hash_ = 0x243f6a8885a308d3U;
  std::uint64_t word_ = 0;
  std::size_t count_ = 0;
};

} // namespace

/// What is checked of a state is in its key, also counters that other parts of the state decide: a
/// state in which they are wrong is another one.
///
/// Data of one size are alike, and so are devices. All that is known of a datum, and what tasks and
/// transfers do with it, is hashed by itself, and the hashes are sorted. Devices are sorted, too;
/// of two that look alike, the order with the smaller hash counts.
std::uint64_t Model::key() const {
  if (devices() == 1 || setting_.adopted) {
    return key_of({0, 1, 2});
  }
  auto const first = rank(1);
  auto const second = rank(2);
  if (first != second) {
    return key_of(first < second ? Order{0, 1, 2} : Order{0, 2, 1});
  }
  return std::min(key_of({0, 1, 2}), key_of({0, 2, 1}));
}

/// Of a device, whatever the names of the data.
std::uint64_t Model::rank(std::size_t node) const {
  auto const& memory = nodes_.node(id(node));
  auto rank = (memory.arena.unused() / unit * 8 + static_cast<std::size_t>(memory.moving)) * 2 +
              (lost_[node] ? 1U : 0U);
  for (auto const& task : windows_[node]) {
    rank = (rank * 4 + static_cast<std::size_t>(task.stage)) * 8 +
           static_cast<std::size_t>(std::popcount(task.uses));
  }
  return rank;
}

std::uint64_t Model::key_of(Order const& nodes) const {
  std::array<std::uint64_t, most_data> of_data{};
  for (std::size_t datum = 0; datum < data(); ++datum) {
    of_data[datum] = key_of(datum, nodes);
  }
  std::sort(of_data.begin(), of_data.begin() + static_cast<std::ptrdiff_t>(data()));
  RowHash hash;
  for (std::size_t datum = 0; datum < data(); ++datum) {
    hash.add_word(of_data[datum]);
  }
  for (std::size_t n = 1; n <= devices(); ++n) {
    auto const& window = windows_[nodes[n]];
    auto const& memory = nodes_.node(id(nodes[n]));
    hash.add(lost_[nodes[n]] ? 200 : window.size());
    hash.add(memory.arena.unused() / unit);
    hash.add(static_cast<std::size_t>(memory.moving));
    hash.add(memory.leaving / unit);
    for (auto const& task : window) {
      hash.add(static_cast<std::size_t>(task.stage) + 4U * task.pins + 8U * task.attempt +
               16U * task.overtaken + 32U * task.undone);
    }
  }
  hash.add(on_host_ ? 1 : 0);
  hash.add(nodes_.awaited() == awaited() ? 0 : 1);
  return hash.value();
}

/// Of one datum.
std::uint64_t Model::key_of(std::size_t datum, Order const& nodes) const {
  auto const& of = data_[datum];
  auto const& replicas = *of.replicas;
  auto const in_node = [&](Replicas const& place, std::size_t node) -> std::size_t {
    return place.at(id(node)).block == hs::no_block ? 255 : offset(place, node) / unit % 255;
  };
  RowHash hash;
  hash.add(setting_.sizes[datum] * 2 + (setting_.adopted && datum == 0 ? 1 : 0));
  hash.add(static_cast<std::size_t>(replicas.lost) * 32 +
           static_cast<std::size_t>(std::min(replicas.failed_copies, most_fails + 1)) * 5 +
           static_cast<std::size_t>(std::min(of.fails, most_fails + 1)));
  hash.add(static_cast<std::size_t>(of.wanted) * 4 + (replicas.home_lost ? 2 : 0) +
           (replicas.home.value != 0 ? 1 : 0));
  if (sync_) { // how many others come before it
    auto const end = synced_.begin() + static_cast<std::ptrdiff_t>(data());
    auto const place = std::find(synced_.begin(), end, &replicas) - synced_.begin();
    hash.add(static_cast<std::size_t>(place) + 1 -
             std::min(static_cast<std::size_t>(place) + 1, sync_->over()));
  }
  hash.add(use_of(abortable_, datum));
  hash.add(static_cast<std::size_t>(replicas.copies_moving) * 16 +
           static_cast<std::size_t>(replicas.writers));
  auto const add_counters = [&](Replicas const& place, std::size_t node) {
    auto const& replica = place.at(id(node));
    hash.add(static_cast<std::size_t>(replica.attempts) * 16 +
             static_cast<std::size_t>(replica.unsettled));
    hash.add(static_cast<std::size_t>(replica.sending) * 2 + (replica.arriving != nullptr ? 1 : 0));
    if (replica.block != hs::no_block) {
      auto const& block = nodes_.node(id(node)).block(replica.block);
      hash.add(static_cast<std::size_t>(block.pins) * 2 + (block.owner == &place ? 1 : 0));
    }
  };
  for (std::size_t n = 0; n <= devices(); ++n) {
    auto const node = nodes[n];
    bool const evicted = of.wanted == Step::evict && of.evicted_from == node;
    hash.add(4U * evicted + 2U * of.good[node] + replicas.valid_at(id(node)));
    if (n == 0) {
      continue;
    }
    hash.add(in_node(replicas, node));
    add_counters(replicas, node);
    hash.add(static_cast<std::size_t>(replicas.at(id(node)).user_pins + 1));
    for (auto const& task : windows_[node]) {
      auto const* const place = task.data[datum];
      hash.add(use_of(task.uses, datum) + (setting_.aborts && task.before[datum] ? 4U : 0U));
      if (place != nullptr && place->forgotten) {
        hash.add(in_node(*place, node));
        add_counters(*place, node);
      }
      bool const moved = place != nullptr && task.stage == Stage::launched &&
                         task.places[datum] != offset(*place, node);
      hash.add(moved ? 1 : 0);
    }
  }
  std::array<std::size_t, most_nodes> place_of{};
  for (std::size_t n = 0; n < most_nodes; ++n) {
    place_of[nodes[n]] = n;
  }
  std::size_t to_node = 0; // at most one transfer goes to each
  for (auto const& transfer : transfers_) {
    auto const& copy = *transfer.copy;
    if (copy.datum == &replicas) {
      auto const what = place_of[at(copy.from)] * 8 + (copy.evicts ? 4U : 0U) +
                        (copy.version == replicas.version ? 2U : 0U) + (transfer.good ? 1U : 0U) +
                        (has_moved(transfer) ? 32U : 0U);
      to_node |= (what + 1) << (8 * place_of[at(copy.to)]);
    }
  }
  hash.add_word(to_node);
  return hash.value();
}

// ---- as text ----

std::string violation_of(Setting const& setting, std::vector<Event> const& events) {
  Model model(setting);
  for (auto const& event : events) {
    std::vector<Event> possible;
    model.events(possible);
    if (std::none_of(possible.begin(), possible.end(), [&](Event const& other) {
          return other.step == event.step && other.a == event.a && other.b == event.b;
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

std::string datum_name(std::size_t datum) {
  return {static_cast<char>('a' + datum)};
}

std::string text_of(Uses uses) {
  std::string text;
  for (std::size_t datum = 0; datum < most_data; ++datum) {
    constexpr std::array<char const*, 4> what{"", "reads ", "writes ", "updates "};
    if (auto const use = use_of(uses, datum); use != 0) {
      text += (text.empty() ? "" : ", ") + std::string(what[use]) + datum_name(datum);
    }
  }
  return text;
}

/// The name of the step, and a sentence of what happens.
std::pair<std::string, std::string> texts_of(Event const& event) {
  auto const device = "device " + std::to_string(event.a);
  auto const task = "task " + std::to_string(event.b) + " of " + device;
  auto const transfer = "transfer " + std::to_string(event.a);
  std::string const host = "the host wants to ";
  auto const a = datum_name(event.a);
  auto const b = datum_name(event.b);
  switch (event.step) {
  case Step::commit:
    return {"commit", device + " gets a task that " + text_of(event.b)};
  case Step::attempt:
    return {"attempt", device + " gets an attempt at a task that " + text_of(event.b)};
  case Step::pin:
    return {"pin", b + " is to be pinned on " + device};
  case Step::admit:
    return {"admit", device + " tries again to admit a task"};
  case Step::begin:
    return {"begin", task + " begins, or asks for its data"};
  case Step::end:
    return {"end", task + " ends well"};
  case Step::fail:
    return {"fail", task + " fails"};
  case Step::cancel:
    return {"cancel", task + " is stopped"};
  case Step::leave:
    return {"leave", task + " leaves before it has begun"};
  case Step::arrive:
    return {"arrive", transfer + " ends well"};
  case Step::miss:
    return {"miss", transfer + " fails"};
  case Step::give_up:
    return {"give_up", transfer + " fails, and so do those in its place"};
  case Step::read:
    return {"read", host + "read " + a};
  case Step::update:
    return {"update", host + "read and write " + a};
  case Step::write:
    return {"write", host + "write " + a};
  case Step::home:
    return {"home", "a sync wants " + a + " at home"};
  case Step::sync:
    return {"sync", "a sync wants all data at home"};
  case Step::look_all:
    return {"look_all", "the sync looks again"};
  case Step::evict:
    return {"evict", b + " is to leave " + device};
  case Step::look:
    return {"look", "the host looks again for " + a};
  case Step::prefetch:
    return {"prefetch", b + " is sent ahead to " + device};
  case Step::unpin:
    return {"unpin", b + " is pinned no more on " + device};
  case Step::lose:
    return {"lose", device + " is lost"};
  case Step::forget:
    return {"forget", a + " is forgotten and registered anew"};
  case Step::host_attempt:
    return {"host_attempt", "the host begins an attempt"};
  case Step::host_wins:
    return {"host_wins", "the host's attempt publishes its result, if it can"};
  }
  return {};
}

} // namespace

std::string
as_test(Setting const& setting, std::vector<Event> const& events, std::string const& violation) {
  auto text = "TEST_CASE(\"MemoryNodes: " + violation + "\") {\n  CHECK(violation_of(" +
              setting.name + "(),\n                     {\n";
  for (auto const& event : events) {
    auto const [name, sentence] = texts_of(event);
    text += "                         {Step::" + name + ", " + std::to_string(event.a) + ", " +
            std::to_string(event.b) + ", " + std::to_string(event.choices) + "}, // " + sentence +
            "\n";
  }
  return text + "                     })\n            .empty());\n}\n";
}

} // namespace memory_model
