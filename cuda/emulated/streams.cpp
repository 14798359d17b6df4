// SPDX-License-Identifier: MIT
// The emulation's table: streams, events, and the operations in streams that are not BLAS.

#include "../last_error.hpp"
#include "calls.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <utility>

namespace hetsched::emulated {
namespace {

using devices::fail;

/// The bytes from the first row's beginning to the last row's end.
std::size_t extent(hs_copy const& copy, std::size_t pitch) {
  return (copy.height - 1) * pitch + copy.width;
}

/// Returns what is wrong with one side of a copy that is not empty, or "".
std::string check_side(
    hs_copy const& copy, char const* side, void const* memory, std::size_t pitch, hs_device* of) {
  auto const name = std::string("'") + side + "' ";
  if (memory == nullptr) {
    return name + "is null";
  }
  if (copy.height > 1 && pitch < copy.width) {
    return name + "has a pitch smaller than the width";
  }
  if (of == nullptr) {
    return "";
  }
  if (!as_device(of).owns(memory, extent(copy, pitch))) {
    return name + "is not in one allocation of " + as_device(of).name();
  }
  return as_device(of).is_lost() ? name + "is on a lost device" : "";
}

std::string check_copy(Stream& stream, hs_copy const& copy) {
  auto* const own = &stream.device();
  auto const is_own = [own](hs_device* device) {
    return device != nullptr && &as_device(device) == own;
  };
  if (!is_own(copy.to_device) && !is_own(copy.from_device)) {
    return "neither side is on the stream's device";
  }
  if (copy.width == 0 || copy.height == 0) {
    return "";
  }
  auto wrong = check_side(copy, "to", copy.to, copy.to_pitch, copy.to_device);
  return wrong.empty() ? check_side(copy, "from", copy.from, copy.from_pitch, copy.from_device)
                       : wrong;
}

/// Runs on the stream's thread. The other device may be lost by then.
std::string do_copy(hs_copy const& copy) {
  std::array<hs_device*, 2> devices{copy.to_device, copy.from_device};
  if (std::greater<>()(devices[0],
                       devices[1])) { // one order, so that no copies wait for each other
    std::swap(devices[0], devices[1]);
  }
  std::array<std::shared_lock<SharedMutex>, 2> moving;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    if (devices[k] == nullptr || (k != 0 && devices[k] == devices[0])) {
      continue;
    }
    auto& device = as_device(devices[k]);
    moving[k] = std::shared_lock(device.copies());
    if (device.is_lost()) {
      return device.why_lost();
    }
  }
  auto* to = static_cast<char*>(copy.to);
  auto const* from = static_cast<char const*>(copy.from);
  for (std::size_t row = 0; row < copy.height && copy.width != 0; ++row) {
    std::memcpy(to, from, copy.width);
    to += copy.to_pitch;
    from += copy.from_pitch;
  }
  return "";
}

/// The function and the argument of `run`. Drops the argument when nobody needs it any more.
struct Call {
  Call(void (*called)(void*), void (*dropped)(void*), void* with)
      : function(called), drop(dropped), argument(with) {}

  Call(Call const&) = delete;
  Call& operator=(Call const&) = delete;

  ~Call() {
    if (drop != nullptr) {
      drop(argument);
    }
  }

  void (*function)(void*);
  void (*drop)(void*);
  void* argument;
};

/// For devices::set_stream_calls.
struct StreamCalls {
  static hs_status stream_create(hs_device* device, hs_stream** stream) {
    *stream = nullptr;
    auto& owner = as_device(device);
    if (auto const status = owner.begin("stream_create", Kind::stream); status != hs_ok) {
      return status;
    }
    std::unique_ptr<Stream> created;
    try {
      created = std::make_unique<Stream>(owner);
    } catch (std::system_error const& error) {
      return fail(hs_failed, std::string("stream_create: no thread: ") + error.what());
    }
    auto const status = owner.add(*created);
    if (status == hs_ok) {
      *stream = reinterpret_cast<hs_stream*>(created.release());
    }
    return status;
  }

  static void stream_destroy(hs_stream* stream) { delete &as_stream(stream); }

  static hs_status stream_synchronize(hs_stream* stream) {
    try {
      return as_stream(stream).record()->synchronize();
    } catch (std::bad_alloc const&) {
      as_stream(stream).wait_until_idle(); // whatever the answer, the caller relies on that
      throw;
    }
  }

  static hs_status stream_wait(hs_stream* stream, hs_event* event) {
    auto& waiter = as_stream(stream);
    if (auto const status = waiter.device().begin("stream_wait", Kind::stream); status != hs_ok) {
      return status;
    }
    auto record = as_event(event).latest();
    if (record == nullptr) {
      return hs_ok;
    }
    return waiter.give(
        {.what = Operation::What::wait, .record = std::move(record), .name = "stream_wait"});
  }

  static hs_device* stream_device(hs_stream* stream) {
    return reinterpret_cast<hs_device*>(&as_stream(stream).device());
  }

  static void* stream_native(hs_stream*) { return nullptr; }

  static void* stream_blas(hs_stream*) { return nullptr; }

  static hs_status event_create(hs_device* device, hs_event** event) {
    *event = nullptr;
    auto& owner = as_device(device);
    auto const status = owner.begin("event_create", Kind::event);
    if (status == hs_ok) {
      *event = reinterpret_cast<hs_event*>(std::make_unique<Event>(owner).release());
    }
    return status;
  }

  static void event_destroy(hs_event* event) { delete &as_event(event); }

  static hs_status event_record(hs_event* event, hs_stream* stream) {
    auto& recorded = as_event(event);
    auto& on = as_stream(stream);
    if (&recorded.device != &on.device()) {
      return fail(hs_failed, "event_record: the event and the stream are of different devices");
    }
    auto const status = on.device().begin("event_record", Kind::event);
    if (status != hs_ok && status != hs_lost) {
      return status;
    }
    // What failed in a lost device's stream is not told to an event that cannot be recorded.
    auto record = status == hs_ok ? on.record() : std::make_shared<Record>();
    if (status == hs_lost) {
      record->reach(hs_lost, on.device().why_lost());
    }
    std::lock_guard const lock(recorded.mutex);
    recorded.record = std::move(record);
    return status;
  }

  static hs_status event_record_native(hs_event* event, void* stream) {
    auto& recorded = as_event(event);
    if (auto const status = recorded.device.begin("event_record_native", Kind::event);
        status != hs_ok) {
      return status;
    }
    auto record = as_stream(static_cast<hs_stream*>(stream)).record();
    std::lock_guard const lock(recorded.mutex);
    recorded.record = std::move(record);
    return hs_ok;
  }

  static hs_status event_query(hs_event* event) {
    auto const record = as_event(event).latest();
    return record == nullptr ? hs_ok : record->query();
  }

  static hs_status event_synchronize(hs_event* event) {
    auto const record = as_event(event).latest();
    return record == nullptr ? hs_ok : record->synchronize();
  }

  static hs_status event_elapsed(hs_event* from, hs_event* to, std::int64_t* ns) {
    *ns = 0;
    auto const first = as_event(from).latest();
    auto const second = as_event(to).latest();
    if (first == nullptr || second == nullptr || &as_event(from).device != &as_event(to).device) {
      return fail(hs_failed, "event_elapsed: events of one device are needed, both recorded");
    }
    for (auto const& record : {first, second}) {
      if (auto const status = record->query(); status != hs_ok) {
        return status;
      }
    }
    using std::chrono::nanoseconds;
    *ns = std::chrono::duration_cast<nanoseconds>(second->time() - first->time()).count();
    return hs_ok;
  }

  static hs_status copy(hs_stream* stream, hs_copy const* copy) {
    auto& on = as_stream(stream);
    if (auto const status = on.device().check_lost("copy"); status != hs_ok) {
      return status;
    }
    if (auto const wrong = check_copy(on, *copy); !wrong.empty()) {
      return fail(hs_failed, "copy: " + wrong);
    }
    bool const far = copy->to_device != copy->from_device;
    auto const least = copy_time(on.device().options(), copy->width * copy->height, far);
    return on.give({.work = [what = *copy] { return do_copy(what); },
                    .name = "copy",
                    .effect = on.device().count(Kind::copy),
                    .least = least});
  }

  static hs_status fill(hs_stream* stream, void* memory, int byte, std::size_t bytes) {
    auto& on = as_stream(stream);
    if (auto const status = on.device().check_lost("fill"); status != hs_ok || bytes == 0) {
      return status;
    }
    if (!on.device().owns(memory, bytes)) {
      return fail(hs_failed, "fill: this is not in one allocation of " + on.device().name());
    }
    return on.give({.work =
                        [=] {
                          std::memset(memory, byte, bytes);
                          return std::string();
                        },
                    .name = "fill"});
  }

  static hs_status
  run(hs_stream* stream, void (*function)(void*), void (*drop)(void*), void* argument) {
    std::shared_ptr<Call> call;
    try {
      call = std::make_shared<Call>(function, drop, argument);
    } catch (...) {
      if (drop != nullptr) {
        drop(argument);
      }
      throw;
    }
    auto& on = as_stream(stream);
    if (auto const status = on.device().check_lost("run"); status != hs_ok) {
      return status;
    }
    return on.give({.work =
                        [call = std::move(call)] {
                          call->function(call->argument);
                          return std::string();
                        },
                    .name = "run",
                    .effect = on.device().count(Kind::kernel),
                    .least = on.device().options().kernel});
  }
};

} // namespace

void set_stream_calls(hs_driver& driver) {
  devices::set_stream_calls<StreamCalls>(driver);
}

} // namespace hetsched::emulated
