// SPDX-License-Identifier: MIT
// CUDA's table: streams, events, copies.

#include "../last_error.hpp"
#include "calls.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hetsched::cuda {
namespace {

using devices::fail;

hs_status record(Event& event, cudaStream_t stream) {
  return on_device(
      *event.device, "cudaEventRecord", [&] { return cudaEventRecord(event.native, stream); });
}

/// `height` rows, or one that holds them all.
bool is_contiguous(hs_copy const& copy) {
  return copy.height == 1 || (copy.to_pitch == copy.width && copy.from_pitch == copy.width);
}

hs_status copy_near(Stream& on, hs_copy const& copy) {
  auto const kind = copy.to_device == nullptr     ? cudaMemcpyDeviceToHost
                    : copy.from_device == nullptr ? cudaMemcpyHostToDevice
                                                  : cudaMemcpyDeviceToDevice;
  if (is_contiguous(copy)) {
    return check(on.device,
                 cudaMemcpyAsync(copy.to, copy.from, copy.width * copy.height, kind, on.native),
                 "cudaMemcpyAsync");
  }
  return check(on.device,
               cudaMemcpy2DAsync(copy.to,
                                 copy.to_pitch,
                                 copy.from,
                                 copy.from_pitch,
                                 copy.width,
                                 copy.height,
                                 kind,
                                 on.native),
               "cudaMemcpy2DAsync");
}

hs_status copy_peer(Stream& on, hs_copy const& copy) {
  auto& to = as_device(copy.to_device);
  auto& from = as_device(copy.from_device);
  auto& other = &to == on.device ? from : to;
  (void)enable_peer(*on.device, other); // if it cannot be, CUDA goes through host memory
  if (is_contiguous(copy)) {
    auto const bytes = copy.width * copy.height;
    return check(
        on.device,
        cudaMemcpyPeerAsync(copy.to, to.ordinal, copy.from, from.ordinal, bytes, on.native),
        "cudaMemcpyPeerAsync");
  }
  cudaMemcpy3DPeerParms what{};
  what.dstPtr = {copy.to, copy.to_pitch, copy.width, copy.height};
  what.dstDevice = to.ordinal;
  // CUDA's structures are for both directions: it does not write here.
  what.srcPtr = {const_cast<void*>(copy.from), copy.from_pitch, copy.width, copy.height};
  what.srcDevice = from.ordinal;
  what.extent = {copy.width, copy.height, 1};
  return check(on.device, cudaMemcpy3DPeerAsync(&what, on.native), "cudaMemcpy3DPeerAsync");
}

/// For devices::set_stream_calls.
struct StreamCalls {
  static void stream_destroy(hs_stream* stream) {
    std::unique_ptr<Stream> const owner(&as_stream(stream));
    Current const current(*owner->device);
    if (owner->native != nullptr) {
      (void)check(owner->device, cudaStreamSynchronize(owner->native), "cudaStreamSynchronize");
    }
    destroy_solver(*owner);
    destroy_blas(*owner);
    if (owner->native != nullptr) {
      (void)check(owner->device, cudaStreamDestroy(owner->native), "cudaStreamDestroy");
    }
  }

  static hs_status stream_create(hs_device* device, hs_stream** stream) {
    *stream = nullptr;
    auto& of = as_device(device);
    Current const current(of);
    if (current.status() != hs_ok) {
      return current.status();
    }
    auto created = std::make_unique<Stream>();
    created->device = &of;
    auto status = check(&of,
                        cudaStreamCreateWithFlags(&created->native, cudaStreamNonBlocking),
                        "cudaStreamCreateWithFlags");
    if (status == hs_ok) {
      status = create_blas(*created);
    }
    auto* const handle = reinterpret_cast<hs_stream*>(created.release());
    if (status == hs_ok) {
      *stream = handle;
      return hs_ok;
    }
    std::string const why = devices::last_error();
    stream_destroy(handle);
    return fail(status, why);
  }

  static hs_status stream_synchronize(hs_stream* stream) {
    auto& on = as_stream(stream);
    return on_device(
        *on.device, "cudaStreamSynchronize", [&] { return cudaStreamSynchronize(on.native); });
  }

  static hs_status stream_wait(hs_stream* stream, hs_event* event) {
    auto& on = as_stream(stream);
    return on_device(*on.device, "cudaStreamWaitEvent", [&] {
      return cudaStreamWaitEvent(on.native, as_event(event).native, 0);
    });
  }

  static hs_device* stream_device(hs_stream* stream) {
    return reinterpret_cast<hs_device*>(as_stream(stream).device);
  }

  static void* stream_native(hs_stream* stream) { return as_stream(stream).native; }

  static void* stream_blas(hs_stream* stream) { return as_stream(stream).blas; }

  static hs_status event_create(hs_device* device, hs_event** event) {
    *event = nullptr;
    auto& of = as_device(device);
    Current const current(of);
    if (current.status() != hs_ok) {
      return current.status();
    }
    auto created = std::make_unique<Event>();
    created->device = &of;
    // With times: event_elapsed needs them.
    auto const status = check(&of,
                              cudaEventCreateWithFlags(&created->native, cudaEventDefault),
                              "cudaEventCreateWithFlags");
    if (status == hs_ok) {
      *event = reinterpret_cast<hs_event*>(created.release());
    }
    return status;
  }

  static void event_destroy(hs_event* event) {
    std::unique_ptr<Event> const owner(&as_event(event));
    Current const current(*owner->device);
    (void)check(owner->device, cudaEventDestroy(owner->native), "cudaEventDestroy");
  }

  static hs_status event_record(hs_event* event, hs_stream* stream) {
    return record(as_event(event), as_stream(stream).native);
  }

  static hs_status event_record_native(hs_event* event, void* stream) {
    return record(as_event(event), static_cast<cudaStream_t>(stream));
  }

  static hs_status event_query(hs_event* event) {
    auto& of = as_event(event);
    return on_device(*of.device, "cudaEventQuery", [&] { return cudaEventQuery(of.native); });
  }

  static hs_status event_synchronize(hs_event* event) {
    auto& of = as_event(event);
    return on_device(
        *of.device, "cudaEventSynchronize", [&] { return cudaEventSynchronize(of.native); });
  }

  static hs_status event_elapsed(hs_event* from, hs_event* to, std::int64_t* ns) {
    *ns = 0;
    auto& first = as_event(from);
    Current const current(*first.device);
    if (current.status() != hs_ok) {
      return current.status();
    }
    float ms = 0;
    auto const status = check(first.device,
                              cudaEventElapsedTime(&ms, first.native, as_event(to).native),
                              "cudaEventElapsedTime");
    *ns = std::llround(static_cast<double>(ms) * 1e6);
    return status;
  }

  static hs_status copy(hs_stream* stream, hs_copy const* copy) {
    auto& on = as_stream(stream);
    Current const current(*on.device);
    if (current.status() != hs_ok) {
      return current.status();
    }
    auto const is_own = [&on](hs_device* device) {
      return device != nullptr && as_device(device).ordinal == on.device->ordinal;
    };
    if (!is_own(copy->to_device) && !is_own(copy->from_device)) {
      return fail(hs_failed, "copy: neither side is on the stream's device");
    }
    if (copy->width == 0 || copy->height == 0) {
      return hs_ok;
    }
    bool const peer = copy->to_device != nullptr && copy->from_device != nullptr &&
                      !(is_own(copy->to_device) && is_own(copy->from_device));
    return peer ? copy_peer(on, *copy) : copy_near(on, *copy);
  }

  static hs_status fill(hs_stream* stream, void* memory, int byte, std::size_t bytes) {
    auto& on = as_stream(stream);
    Current const current(*on.device);
    if (current.status() != hs_ok || bytes == 0) {
      return current.status();
    }
    return check(on.device, cudaMemsetAsync(memory, byte, bytes, on.native), "cudaMemsetAsync");
  }

  static hs_status run(hs_stream*, void (*)(void*), void (*drop)(void*), void* argument) {
    if (drop != nullptr) {
      drop(argument);
    }
    return fail(hs_not_supported, "run: the memory of CUDA devices is not for the host to touch");
  }
};

} // namespace

void set_stream_calls(hs_driver& driver) {
  devices::set_stream_calls<StreamCalls>(driver);
}

} // namespace hetsched::cuda
