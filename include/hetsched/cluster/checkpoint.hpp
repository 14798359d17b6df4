// SPDX-License-Identifier: MIT
#pragma once
// What DistributedRuntime::checkpoint and restore do, for programs that call them.

#include <hetsched/cluster/distributed_data.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/checkpoint_file.hpp>
#include <hetsched/detail/files/new_file.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// One rank's part in a checkpoint: a file PATH.a.RANK of what is at home there, or PATH.b.RANK, by
/// turns. PATH itself says which of them count, and is replaced last, as a whole; so at each moment
/// it leads to all of the old checkpoint or all of the new one.
template <class Rt>
class Checkpoints {
public:
  Checkpoints(Rt& rt, std::string path) : rt_(rt), path_(std::move(path)) {}

  void save() {
    CheckpointList old;
    CheckpointList fresh;
    try {
      rt_.together(save_call, [&] {
        old = CheckpointList::read_if_there(path_);
        fresh = {old.letter == 'a' ? 'b' : 'a', rt_.ranks(), rt_.registered_};
        write_part(fresh.part(path_, rt_.rank()));
      });
      rt_.together(save_call, [&] {
        if (rt_.rank() == 0) {
          fresh.write(path_);
        }
      });
    } catch (...) {
      if (fresh.letter != 0) {
        ::unlink(fresh.part(path_, rt_.rank()).c_str());
      }
      throw;
    }
    for (int r = rt_.rank(); r < old.ranks; r += rt_.ranks()) { // nobody is led there any more
      ::unlink(old.part(path_, r).c_str());
    }
  }

  void load() {
    rt_.together(load_call, [&] {
      auto const list = CheckpointList::read(path_);
      if (list.data != rt_.registered_) {
        throw Error(ErrorCode::bad_input,
                    path_,
                    text("was made when %u data were registered, and there are %u",
                         unsigned{list.data},
                         unsigned{rt_.registered_}));
      }
      std::vector<bool> found(rt_.registered_);
      for (int r = 0; r < list.ranks; ++r) {
        CheckpointReader part(list.part(path_, r));
        for (auto const& entry : part.entries()) {
          if (auto const datum = at_home(entry.number)) {
            part.read(entry, region_of(*datum));
            found[entry.number] = true;
          }
        }
      }
      rt_.for_each_datum([&](ClusterDatum& datum) {
        if (datum.home == rt_.rank() && !found[datum.number]) {
          throw Error(ErrorCode::bad_input, path_, text("has no datum %u", unsigned{datum.number}));
        }
      });
    });
  }

private:
  static constexpr CallName save_call{"checkpoint"};
  static constexpr CallName load_call{"restore"};

  [[nodiscard]] static CheckpointRegion region_of(ClusterDatum const& datum) noexcept {
    auto const& record = *datum.local->record;
    return {static_cast<std::byte*>(record.home.base),
            datum.element_bytes,
            datum.rows,
            datum.cols,
            record.home.ld};
  }

  [[nodiscard]] std::shared_ptr<ClusterDatum> at_home(std::uint32_t number) const {
    std::shared_ptr<ClusterDatum> wanted;
    auto const place = std::lower_bound(
        rt_.data_.begin(), rt_.data_.end(), number, [](auto const& known, std::uint32_t value) {
          return known.number < value;
        });
    if (place != rt_.data_.end() && place->number == number) {
      wanted = place->datum.lock();
    }
    return wanted != nullptr && wanted->home == rt_.rank() ? wanted : nullptr;
  }

  void write_part(std::string const& name) {
    CheckpointWriter part(name);
    rt_.for_each_datum([&](ClusterDatum& datum) {
      if (datum.home == rt_.rank()) {
        part.add(datum.number, region_of(datum));
      }
    });
    part.finish();
  }

  Rt& rt_;
  std::string path_;
};

} // namespace hetsched::detail
