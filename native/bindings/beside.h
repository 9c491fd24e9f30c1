// Native work in the background of the Python thread that began it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/background.h"

namespace penstock::bindings {

// A thread for such work on some cores, or any, held by Python; releasing the last reference waits for its end, without
// the GIL.
struct SideThread {
  std::shared_ptr<BackgroundThread> thread;
  explicit SideThread(std::vector<int> cores) : thread(std::make_shared<BackgroundThread>(std::move(cores))) {}
  ~SideThread() {
    const nanobind::gil_scoped_release release;
    thread.reset();
  }
};

// Must be the last member after the data of the work, which thus ends before the data dies. Waiting releases the GIL.
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

  // Does its share, waits for the work, if any, and returns its wall and CPU time in ns.
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
