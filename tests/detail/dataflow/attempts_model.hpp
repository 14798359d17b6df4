// SPDX-License-Identifier: MIT
#pragma once
// One abortable task, and workers that begin attempts at it, in any order. And what must hold then.

#include <hetsched/detail/dataflow/attempts.hpp>

#include "../../support/explorer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attempts_model {

namespace hs = hetsched;
using hs::detail::AttemptLink;
using hs::detail::Attempts;
using hs::detail::Departure;
using hs::detail::TaskRecord;
using hs::detail::Visit;

constexpr std::size_t most_workers = 4;

struct Setting {
  std::string name;
  std::size_t cores = 2;
  std::size_t devices = 1; // the last workers
};

enum class Step : std::uint8_t {
  take,    // worker a is given the task, and makes the first attempt
  reserve, // worker a finds that it may begin another attempt
  visit,   // it looks whether the task is still there
  enter,   // its attempt is under way
  go,      // it looks no longer; if there is no attempt of its own, there will be none
  look,    // it looks at the task's data for its attempt
  begin,   // the body begins
  stop,    // the body sees that its result is not wanted
  refuse,  // the device does not take the attempt
  end,     // the body ends
  publish, // the result becomes the task's, when nobody looks at the task
  leave,   // the attempt is no more
  again,   // the task is handed to the scheduler anew
  tell     // the attempt counts as a child no more
};

struct Event {
  Step step = Step::take;
  std::uint8_t a = 0;
  std::uint16_t choices = 0;
};

class Model {
public:
  using Event = attempts_model::Event;

  explicit Model(Setting const& setting);
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;
  ~Model();

  void events(std::vector<Event>& out) const;
  void apply(Event const& event);
  void check();
  void complete();

  [[nodiscard]] static exploration::Choices const& choices() noexcept {
    return exploration::no_choices();
  }

  [[nodiscard]] std::string violation() const { return violation_ == nullptr ? "" : violation_; }

  [[nodiscard]] std::uint64_t key() const;

private:
  enum class Stage : std::uint8_t {
    idle,
    reserved,
    visiting, // to make an attempt
    under_way,
    looking, // at the data
    body,
    won,
    over,
    again, // left; no attempt had a result
    left
  };

  struct Worker {
    Stage stage = Stage::idle;
    TaskRecord* attempt = nullptr;
    Attempts* all = nullptr;
    std::optional<Visit> visit;
    bool held = false; // since it left
  };

  void must(bool holds, char const* what) {
    if (!holds && violation_ == nullptr) [[unlikely]] {
      violation_ = what;
    }
  }

  [[nodiscard]] bool on_device(std::size_t worker) const { return worker >= setting_.cores; }

  [[nodiscard]] std::size_t workers() const { return setting_.cores + setting_.devices; }

  [[nodiscard]] TaskRecord* make_record() const;
  void take(std::size_t at);
  void leave(std::size_t at);
  void tell(std::size_t at);
  void uses_task();
  void complete_task();

  Setting const& setting_;
  TaskRecord* const task_;
  std::array<Worker, most_workers> workers_;
  Attempts* all_ = nullptr; // of which the engine knows
  bool ready_ = true;       // the scheduler has the task
  int published_ = 0;
  bool complete_ = false;
  char const* violation_ = nullptr;
};

[[nodiscard]] std::string violation_of(Setting const& setting, std::vector<Event> const& events);

[[nodiscard]] std::string
as_test(Setting const& setting, std::vector<Event> const& events, std::string const& violation);

[[nodiscard]] inline Setting three_cores() {
  return {"three_cores", 3, 0};
}

[[nodiscard]] inline Setting cores_and_device() {
  return {"cores_and_device", 2, 1};
}

[[nodiscard]] inline Setting core_and_devices() {
  return {"core_and_devices", 1, 2};
}

[[nodiscard]] inline Setting cores_and_devices() {
  return {"cores_and_devices", 2, 2};
}

} // namespace attempts_model
