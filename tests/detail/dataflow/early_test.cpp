// SPDX-License-Identifier: MIT
#include <hetsched/detail/dataflow/early.hpp>
#include <hetsched/detail/dataflow/task_pool.hpp>
#include <hetsched/detail/spawn/register_data.hpp>
#include <hetsched/detail/spawn/task_traits.hpp>

#include "../engine/fake_engines.hpp" // checked by its assertions alone

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <vector>

using hetsched::AccessMode;
using hetsched::Arch;
using hetsched::ArchCUDA;
using hetsched::ArchHost;
using hetsched::ArchMask;
using hetsched::detail::Access;
using hetsched::detail::AccessQueue;
using hetsched::detail::Attributes;
using hetsched::detail::Binding;
using hetsched::detail::DataRecord;
using hetsched::detail::Domain;
using hetsched::detail::LaunchedSuccessors;
using hetsched::detail::make_record;
using hetsched::detail::Owned;
using hetsched::detail::SizeClass;
using hetsched::detail::TaskDepot;
using hetsched::detail::TaskKind;
using hetsched::detail::TaskPool;
using hetsched::detail::TaskRecord;
using hetsched::detail::TaskType;

namespace early_test {

constexpr TaskType user_type{"user", TaskKind::user, {}, {}, nullptr, nullptr, nullptr};

/// Tasks on a few data, as a spawn registers them.
class Tasks {
public:
  Tasks() {
    for (auto& number : numbers_) {
      data_.push_back(make_record(&number, {1, 1, 1}, sizeof number, domain_));
    }
  }

  struct Uses {
    std::size_t datum;
    AccessMode mode;
  };

  TaskRecord& spawn(std::initializer_list<Uses> uses, Arch arch = ArchCUDA) {
    auto& task = *pool_.allocate(SizeClass::of(sizeof(TaskRecord) + uses.size() * sizeof(Access)));
    task.start(user_type, ArchMask::only(arch), nullptr, {});
    std::int32_t missing = 0;
    for (auto const& use : uses) {
      auto& queue = data_[use.datum]->home;
      auto& access = *new (task.accesses() + task.access_count)
                         Access{&queue, nullptr, {}, use.mode, false, 0, task.access_count};
      ++task.access_count;
      missing += queue.enqueue(access) ? 0 : 1;
    }
    task.pending.store(missing);
    return task;
  }

private:
  std::array<int, 4> numbers_{};
  Domain domain_;
  std::vector<Owned<DataRecord>> data_;
  TaskDepot depot_;
  TaskPool pool_{depot_};
};

constexpr auto R = AccessMode::read;
constexpr auto RW = AccessMode::read_write;

TEST_SUITE_BEGIN("detail/early");

TEST_CASE("LaunchedSuccessors: what waits for nothing but what is launched") {
  Tasks tasks;
  LaunchedSuccessors launched;
  auto& first = tasks.spawn({{0, RW}, {3, R}});
  auto& elsewhere = tasks.spawn({{1, RW}});
  auto& both = tasks.spawn({{0, R}, {1, R}});
  auto& on_host = tasks.spawn({{0, R}}, ArchHost);
  auto& reads = tasks.spawn({{0, R}, {2, RW}});
  auto& after_all = tasks.spawn({{0, RW}});
  auto& after_reader = tasks.spawn({{3, RW}});
  CHECK(launched.next() == nullptr);
  launched.note(first, ArchCUDA);
  CHECK(launched.next() == &reads);
  CHECK(launched.all_before(reads));
  for (auto* const other : {&both, &on_host, &after_all, &after_reader, &elsewhere}) {
    CAPTURE(other->pending.load());
    CHECK(launched.all_before(*other) == (other == &elsewhere)); // waits for nothing
  }
  CHECK(!launched.binds(first));
  reads.binding = Binding::bound;
  CHECK(launched.binds(first));
  CHECK(!launched.binds(elsewhere));
  CHECK(launched.next() == nullptr);
  launched.note(elsewhere, ArchCUDA);
  CHECK(launched.next() == &both);
  launched.forget(first);
  CHECK(!launched.binds(first));
  CHECK(launched.next() == nullptr);
}

TEST_CASE("LaunchedSuccessors: a chain, each launched behind the one before") {
  Tasks tasks;
  LaunchedSuccessors launched;
  std::vector<TaskRecord*> chain;
  for (int k = 0; k < 6; ++k) {
    chain.push_back(&tasks.spawn({{0, RW}}));
  }
  for (std::size_t k = 0; k + 1 < chain.size(); ++k) {
    CAPTURE(k);
    launched.note(*chain[k], ArchCUDA);
    REQUIRE(launched.next() == chain[k + 1]);
    chain[k + 1]->binding = Binding::bound;
    CHECK(launched.binds(*chain[k]));
  }
}

} // namespace early_test
