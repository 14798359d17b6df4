// SPDX-License-Identifier: MIT
#pragma once
// What schedulers are told of times that are perturbed: those that they were before.

#include <hetsched/concepts/perf_model.hpp>

#include "machines.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kumar2017 {

/// Predicts the times of the case that a Scope names; without one nothing, and virtual time's own
/// hold. For one thread.
class KnownTimes {
public:
  static constexpr bool measures = false;

  class Scope {
  public:
    explicit Scope(Case const* known) {
      if (known == nullptr) {
        return;
      }
      auto const& platform = known->platform;
      for (auto const& node : known->graph.nodes()) {
        if (find(node.type) != nullptr) {
          continue;
        }
        auto const* const kernel = platform.find(
            node.type, known->algorithm, hs::Precision::double_precision, 960, known->library);
        auto& times = table().emplace_back(std::string(node.type), Times{}).second;
        for (std::size_t c = 0; c < platform.classes.size(); ++c) {
          if (auto const time = kernel->on(c)) {
            times[platform.classes[c].arch.index] = time->mean;
          }
        }
      }
    }

    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;

    ~Scope() { table().clear(); }
  };

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const& task,
                                                      hs::Arch arch) const {
    auto const* const times = find(task.type);
    if (times == nullptr || !(*times)[arch.index]) {
      return std::nullopt;
    }
    return hs::Prediction{*(*times)[arch.index], {}, 0};
  }

  void record(hs::TaskView const& /*task*/, hs::Arch /*arch*/, hs::Duration /*measured*/) {}

  [[nodiscard]] hs::Duration
  transfer(std::size_t /*bytes*/, hs::NodeId /*from*/, hs::NodeId /*to*/) const {
    return {};
  }

private:
  using Times = std::array<std::optional<hs::Duration>, hs::max_archs>;

  [[nodiscard]] static std::vector<std::pair<std::string, Times>>& table() {
    static std::vector<std::pair<std::string, Times>> known;
    return known;
  }

  [[nodiscard]] static Times const* find(std::string_view type) {
    for (auto const& [name, times] : table()) {
      if (name == type) {
        return &times;
      }
    }
    return nullptr;
  }
};

} // namespace kumar2017
