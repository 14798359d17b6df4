// SPDX-License-Identifier: MIT
#pragma once
// The contract of performance models.

#include <hetsched/concepts/context.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hetsched {

/// The machine that a model's times are of, and where it may keep them.
struct Site {
  /// A class of workers that the runtime has.
  struct Class {
    Arch arch;
    std::string name;     // "cpu", "cuda"
    std::string hardware; // "NVIDIA H100"; of several kinds: joined by " + "
  };

  std::string model_dir; // Config::model_dir; empty: times are not kept
  std::string machine;   // Config::machine
  std::vector<Class> classes;
  int devices = 0; // device k has memory node k + 1

  /// Of all classes, joined by " + ".
  [[nodiscard]] std::string all_hardware() const {
    std::string all;
    for (auto const& its : classes) {
      all += (all.empty() ? "" : " + ") + its.hardware;
    }
    return all;
  }
};

/// Predicts execution and transfer times from what it was told.
///
/// static constexpr bool measures: whether the engine is to read clocks around bodies for `record`.
/// predict(task, arch): nothing if never seen: the task is then explored, never taken as 0.
/// record(task, arch, measured): one execution. transfer(bytes, from, to): link time.
/// begin(site): optional; called once by a runtime on real workers, before anything else. It may
/// throw Error(bad_config). Simulated runtimes do not call it: their times are nobody's.
/// Threading: predict and transfer may run at the same time as each other and as record; the model
/// sees to its own consistency. Default-constructible.
template <class P>
concept perf_model =
    std::default_initializable<P> &&
    requires(P& model, P const& known, TaskView const& task, Arch arch, Duration d, NodeId node) {
      { P::measures } -> std::convertible_to<bool>;
      { known.predict(task, arch) } -> std::same_as<std::optional<Prediction>>;
      { model.record(task, arch, d) } -> std::same_as<void>;
      { known.transfer(std::size_t{}, node, node) } -> std::same_as<Duration>;
    };

template <class P>
concept has_begin = requires(P& model, Site const& site) {
  { model.begin(site) } -> std::same_as<void>;
};

} // namespace hetsched
