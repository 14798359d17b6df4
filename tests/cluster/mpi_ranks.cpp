// SPDX-License-Identifier: MIT
// One rank of an MPI job; mpi_jobs.py starts it. Usage: mpi_ranks SCENARIO
// Exit status: 0 if all is as it should be, 2 after an Error, otherwise another one.

#include <hetsched/cluster/mpi_rma_transport.hpp>
#include <hetsched/cluster/mpi_transport.hpp>
#include <hetsched/cluster/rma_over_messages.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/testing/rma_conformance.hpp>
#ifdef HETSCHED_HAVE_GA
#include <hetsched/cluster/ga_transport.hpp>
#endif

#include "../support/message_log.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace {

using message_log::head_of;
using message_log::Log;
using message_log::payload_of;

constexpr std::array<std::size_t, 6> sizes{0, 1, 3072, 3073, 70000, 300000};

void expect(bool condition, char const* what) {
  if (!condition) {
    std::fprintf(stderr, "mpi_ranks: %s\n", what);
    std::exit(1);
  }
}

/// A rank, whose lock its threads hold for each call.
class Rank {
public:
  explicit Rank(hs::MpiTransport& transport) : transport_(transport) {
    log_.on_arrival = [this](int from, std::uint64_t number) {
      if (number % 2 == 0) { // the odd ones are answers
        send(from, number + 1, sizes[(number / 2) % sizes.size()]);
      }
    };
  }

  /// Sends `count` messages to each other rank.
  void ask(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      for (int to = 0; to < transport_.ranks(); ++to) {
        if (to != transport_.rank()) {
          std::lock_guard const guard(lock_);
          auto const number = 2 * asked_++;
          send(to, number, sizes[(number / 2) % sizes.size()]);
          transport_.poll(log_);
        }
      }
    }
  }

  /// Until `count` messages of each other rank and their answers have come, and all sends are over.
  void wait_for(std::uint64_t count) {
    auto const all = 2 * count * static_cast<std::uint64_t>(transport_.ranks() - 1);
    for (;;) {
      {
        std::lock_guard const guard(lock_);
        if (log_.arrivals.size() == all && log_.sents.size() == sends_) {
          return;
        }
        if (transport_.poll(log_)) {
          continue;
        }
      }
      hs::detail::pause_for(20000);
    }
  }

  void judge() {
    for (auto const& arrival : log_.arrivals) {
      auto const bytes = sizes[(arrival.number / 2) % sizes.size()];
      expect(arrival.payload == payload_of(arrival.number, bytes), "a payload has changed");
    }
    for (auto const& [cookie, times] : log_.sents) {
      expect(times == 1, "a cookie came twice");
    }
    for (auto const& event : log_.events) {
      expect(event.front() != 'l', "a rank was lost");
    }
  }

private:
  void send(int to, std::uint64_t number, std::size_t bytes) {
    auto const cookie = sends_++;
    payloads_.push_back(payload_of(number, bytes));
    transport_.send(to, head_of(number), payloads_.back(), cookie);
  }

  std::mutex lock_; // of what follows
  hs::MpiTransport& transport_;
  Log log_;
  std::uint64_t asked_ = 0;
  std::uint64_t sends_ = 0;
  std::vector<std::vector<std::byte>> payloads_;
};

/// All to all, by two threads of each rank.
void messages(hs::MpiTransport& transport) {
  constexpr std::uint64_t count = 12; // of each size twice
  Rank rank(transport);
  std::thread second([&] { rank.ask(count / 2); });
  rank.ask(count / 2);
  second.join();
  rank.wait_for(count);
  MPI_Barrier(MPI_COMM_WORLD); // the others have theirs, too
  rank.judge();
}

/// Many messages whose order shows, while payloads overtake each other.
void order(hs::MpiTransport& transport) {
  constexpr std::uint64_t count = 2000;
  auto const large = payload_of(0, 9000);
  auto const last = transport.ranks() - 1;
  Log log;
  if (transport.rank() == last) {
    for (std::uint64_t number = 0; number < count; ++number) {
      auto const bytes = number % 3 == 0 ? large.size() : number % 3;
      transport.send(0, head_of(number), std::span(large).first(bytes), number);
    }
    while (log.sents.size() < count) {
      transport.poll(log);
    }
  } else if (transport.rank() == 0) {
    while (log.arrivals.size() < count) {
      transport.poll(log);
    }
    std::uint64_t next = 0;
    for (auto const& event : log.events) {
      if (event.front() == 'b') {
        expect(std::stoull(event.substr(event.find(':') + 1)) == next++, "begins out of order");
      }
    }
    expect(next == count, "a message without begin");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 1 ends in the middle; the others would poll for ever.
void killed(hs::MpiTransport& transport) {
  Log log;
  if (transport.rank() == 1) {
    transport.send(0, head_of(0), {}, 0);
    transport.poll(log);
    hs::detail::pause_for(100'000'000);
    std::raise(SIGKILL);
  }
  while (log.arrivals.empty() || log.events.back().front() != 'l') {
    if (!transport.poll(log)) {
      hs::detail::pause_for(200'000);
    }
  }
  transport.abort(log.events.back());
}

/// Rank 1 sends what no transport sends, by MPI itself; rank 0 loses it and ends the job.
void nonsense(hs::MpiTransport& transport, std::string_view scenario) {
  Log log;
  if (transport.rank() == 1) {
    std::vector<std::byte> bytes(10);
    if (scenario == "too_long") {
      bytes.resize(100000);
    } else if (scenario == "short_payload") { // announced: 5000
      std::uint64_t const announced[]{8, 5000, 0};
      bytes.assign(std::as_bytes(std::span(announced)).begin(),
                   std::as_bytes(std::span(announced)).end());
    }
    auto const size = static_cast<int>(bytes.size());
    MPI_Send(bytes.data(), size, MPI_BYTE, 0, 1, transport.communicator());
    if (scenario.ends_with("_payload")) {
      bytes.resize(scenario == "long_payload" ? 5001 : bytes.size());
      MPI_Send(
          bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, 2, transport.communicator());
    }
  }
  for (;;) {
    if (!transport.poll(log)) {
      hs::detail::pause_for(200'000);
    } else if (!log.events.empty() && log.events.back().front() == 'l') {
      transport.abort("mpi_ranks: " + log.events.back());
    }
  }
}

/// What the start of a job refuses.
void self_test(hs::MpiSession const& session, std::string_view scenario) {
  constexpr std::int64_t patience_ns = 500'000'000;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (scenario == "self_test_version") {
    hs::detail::MpiGreeting own;
    own.version += static_cast<std::uint32_t>(rank);
    hs::detail::MpiSelfTest(MPI_COMM_WORLD, rank, ranks, own).run(patience_ns);
  }
  if (rank == 1) { // makes no transport
    std::this_thread::sleep_for(std::chrono::seconds(30));
  } else if (scenario == "self_test_silent") {
    hs::detail::MpiSelfTest(MPI_COMM_WORLD, rank, ranks).run(patience_ns);
  } else {
    hs::MpiTransport const transport(session, MPI_COMM_WORLD, patience_ns);
  }
}

/// The kit for one-sided transports.
template <class T>
void keeps_contract(T& rma) {
  auto const report = hs::testing::check_rma_rank(rma, {.seeds = 1});
  expect(report.ok(), report.text().c_str());
}

#ifdef HETSCHED_HAVE_GA
constexpr bool has_arrays = true;
#else
constexpr bool has_arrays = false;
#endif

int run(std::string_view scenario) {
  if (scenario == "has_arrays") { // without MPI
    return has_arrays ? 0 : 1;
  }
  if (scenario == "no_threads") { // the program initialises MPI, and asks for too little
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &level);
    hs::MpiSession const session;
    return 0; // some MPIs give more
  }
  bool const own = scenario == "own_session";
  if (own) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  }
  {
    hs::MpiSession const session;
    expect(session.owns() == !own, "the wrong one finalises MPI");
    if (scenario.starts_with("self_test")) {
      self_test(session, scenario);
      return 0;
    }
    if (scenario == "rma_windows") {
      hs::MpiRmaTransport rma(session);
      keeps_contract(rma);
      return 0;
    }
#ifdef HETSCHED_HAVE_GA
    if (scenario == "rma_arrays") {
      hs::GaTransport rma(session);
      keeps_contract(rma);
      return 0;
    }
#endif
    hs::MpiTransport transport(session);
    if (scenario == "rma_messages") {
      hs::RmaOverMessages rma(transport);
      keeps_contract(rma);
      return 0;
    }
    if (scenario == "messages" || own) {
      messages(transport);
      order(transport);
    } else if (scenario == "killed") {
      killed(transport);
    } else if (scenario == "abort" && transport.rank() == 1) {
      transport.abort("mpi_ranks: rank 1 gives up");
    } else if (scenario == "throws" && transport.rank() == 1) {
      transport.send(1, {}, {}, 0);
    } else if (scenario == "abort" || scenario == "throws") {
      killed(transport);
    } else {
      nonsense(transport, scenario);
    }
  }
  if (own) {
    int over = 0;
    MPI_Finalized(&over);
    expect(over == 0, "the session finalised the program's MPI");
    MPI_Finalize();
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "messages");
  } catch (hs::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    int begun = 0;
    int over = 0;
    if (MPI_Initialized(&begun) == MPI_SUCCESS && begun != 0 &&
        MPI_Finalized(&over) == MPI_SUCCESS && over == 0) {
      hs::detail::abort_mpi(); // the program's own MPI
    }
    return 2;
  }
}
