// SPDX-License-Identifier: MIT
#pragma once
// The performance model of the programs.

#include <hetsched/concepts/perf_model.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace example {

namespace hs = hetsched;

/// policies::Bandwidth<>, which keeps times from run to run under HETSCHED_MODEL_DIR; in a build
/// without nlohmann-json policies::History. In engines.cpp, so that no program compiles a JSON
/// parser. Thread-safe as those are.
class Times {
public:
  static constexpr bool measures = true;

  Times();
  ~Times();

  /// Throws Error(bad_config).
  void begin(hs::Site const& site);

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const& task,
                                                      hs::Arch arch) const;
  void record(hs::TaskView const& task, hs::Arch arch, hs::Duration measured);
  [[nodiscard]] hs::Duration transfer(std::size_t bytes, hs::NodeId from, hs::NodeId to) const;

private:
  struct Model;
  std::unique_ptr<Model> model_;
};

static_assert(hs::perf_model<Times> && hs::has_begin<Times>);

} // namespace example
