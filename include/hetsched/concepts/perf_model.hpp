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

/// The machine on which a model's times are measured, and the place where the model may keep them.
struct Site {
  /// A class of workers that the runtime has.
  struct Class {
    Arch arch;
    std::string name;     // "cpu", "cuda"
    std::string hardware; // "NVIDIA H100"; several kinds are joined by " + "
  };

  std::string model_dir; // Config::model_dir; empty: times are not kept
  std::string machine;   // Config::machine
  std::vector<Class> classes;
  int devices = 0; // device k has memory node k + 1

  /// The hardware of all classes, joined by " + ".
  [[nodiscard]] std::string all_hardware() const {
    std::string all;
    for (auto const& one_class : classes) {
      all += (all.empty() ? "" : " + ") + one_class.hardware;
    }
    return all;
  }
};

/// Predicts execution and transfer times. Default-constructible.
///
/// static constexpr bool measures   Whether the engine reads clocks around bodies for `record`.
/// using predicts_nothing = P   Optional: predict and transfer never know anything, and no engine
///   needs to ask. It names the model P itself, so that models derived from P are asked again.
/// predict(task, arch)   No value if the model has never seen such a task. Schedulers then explore;
///   they never take the time as 0.
/// record(task, arch, measured)   One execution took so long.
/// transfer(bytes, from, to)      Time on the link.
/// begin(site)   Optional. A runtime on real workers calls it once, before anything else. It may
///   throw Error(bad_config). Simulated runtimes do not call it, because their times belong to no
///   real machine.
/// Threading: predict, transfer and record may run at the same time. The model must keep itself
/// consistent.
template <class P>
concept perf_model =
    std::default_initializable<P> &&
    requires(P& model, P const& known, TaskView const& task, Arch arch, Duration d, NodeId node) {
      { P::measures } -> std::convertible_to<bool>;
      { known.predict(task, arch) } -> std::same_as<std::optional<Prediction>>;
      { model.record(task, arch, d) } -> std::same_as<void>;
      { known.transfer(std::size_t{}, node, node) } -> std::same_as<Duration>;
    };

/// Whether an engine is to ask the model for predictions.
template <class P>
inline constexpr bool predicts_anything =
    !requires { requires std::same_as<typename P::predicts_nothing, P>; };

template <class P>
concept has_begin = requires(P& model, Site const& site) {
  { model.begin(site) } -> std::same_as<void>;
};

} // namespace hetsched
