// Native work beside the Python thread that began it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/background.h"

namespace penstock::bindings {

// A thread for such work, as Python holds it; who lets go of it last waits for its end, without the GIL.
struct SideThread {
  std::shared_ptr<BackgroundThread> thread = std::make_shared<BackgroundThread>();
  ~SideThread() {
    const nanobind::gil_scoped_release release;
    thread.reset();
  }
};

// To be the last member of what the work reads and writes: it ends before that dies. Both ends let go of the GIL.
class Beside {
 public:
  Beside() = default;
  ~Beside() {
    const nanobind::gil_scoped_release release;
    background_.reset();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  void begin(std::size_t pieces, Background::Work work, const SideThread& side) {
    background_.emplace(pieces, std::move(work), side.thread);
  }

  // Does its share, and returns once the work, if any was begun, is done: what all of it took in ns, by the clock and
  // on the processor.
  std::pair<std::int64_t, std::int64_t> wait() {
    if (!background_) return {0, 0};
    const nanobind::gil_scoped_release release;
    background_->wait();
    const Took took = background_->took();
    return {took.wall, took.cpu};
  }

 private:
  std::optional<Background> background_;
};

}  // namespace penstock::bindings
