// SPDX-License-Identifier: MIT
#pragma once
// Keeps the times of a model from run to run. Needs nlohmann-json.

#include <hetsched/detail/policies/model_files.hpp>
#include <hetsched/policies/perf_models/history.hpp>

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

namespace hetsched::policies {

/// A model whose times can be kept: `History`, `Regression`.
///
/// restore(samples): learns the kept times of one kind of task, before anything is recorded.
/// take_fresh(): the times recorded since the last call, without restored ones.
template <class M>
concept storable_model = perf_model<M> && requires(M& model, History::Samples const& samples) {
  { model.restore(samples) } -> std::same_as<void>;
  { model.take_fresh() } -> std::same_as<std::vector<History::Samples>>;
};

/// Decides: as Model, which begins with the times that earlier runs recorded on this machine and
///   hardware. When the runtime ends, the times of this run are added.
/// Source: StarPU's models, one file for each machine; Lima et al. 2015, sec. 4.2.
/// Cost: as Model. When the runtime begins it reads, and when it ends it reads and writes, one file
///   for each class of worker, under a lock.
/// Needs: nothing of the context; Config::model_dir. Without that it is Model.
/// Threading: as Model. Any number of runtimes and processes may share the files. Each adds its
///   times to the contents of a file, and replaces the file in one step.
/// Deterministic: as Model, for the same files.
/// Knobs: none.
/// Limits: a process that is killed writes nothing. A file that cannot be read or belongs to
///   another machine is named on stderr and set aside. A file that cannot be written is named, and
///   the times are lost. Times in simulated runtimes are not kept. Throws Error(bad_config) if the
///   folder cannot be made.
template <storable_model Model = History>
class Stored {
public:
  static constexpr bool measures = Model::measures;

  Stored() = default;
  Stored(Stored const&) = delete;
  Stored& operator=(Stored const&) = delete;

  ~Stored() {
    if (folder_ == nullptr) {
      return;
    }
    try {
      save();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "hetsched: times of this run are lost: %s\n", error.what());
    }
  }

  void begin(Site const& site) {
    if (site.model_dir.empty()) {
      return;
    }
    classes_ = site.classes;
    folder_ = std::make_unique<detail::ModelFolder>(site);
    for (auto const& workers : classes_) {
      for (auto const& samples : folder_->load(workers)) {
        model_.restore(samples);
      }
    }
  }

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const {
    return model_.predict(task, arch);
  }

  void record(TaskView const& task, Arch arch, Duration measured) {
    model_.record(task, arch, measured);
  }

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return model_.transfer(bytes, from, to);
  }

  [[nodiscard]] Model const& model() const noexcept { return model_; }

private:
  void save() {
    auto const fresh = model_.take_fresh();
    for (auto const& workers : classes_) {
      std::vector<History::Samples> of_class;
      for (auto const& samples : fresh) {
        if (samples.arch == workers.arch) {
          of_class.push_back(samples);
        }
      }
      if (!of_class.empty()) {
        folder_->add(workers, of_class);
      }
    }
  }

  Model model_;
  std::vector<Site::Class> classes_;
  std::unique_ptr<detail::ModelFolder> folder_; // null: nothing is kept
};

static_assert(perf_model<Stored<>>);

} // namespace hetsched::policies
