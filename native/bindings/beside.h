// Native work beside the Python thread that began it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "kernels/background.h"

namespace penstock::bindings {

// To be the last member of what the work reads and writes: it ends before that dies. Both ends let go of the GIL.
class Beside {
 public:
  Beside() = default;
  ~Beside() {
    if (!background_) return;
    const nanobind::gil_scoped_release release;
    background_->end();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  void begin(std::function<void()> work) { background_.emplace(std::move(work)); }

  // Returns once the work, if any was begun, is done: what it took in ns, by the clock and on the processor.
  std::pair<std::int64_t, std::int64_t> wait() {
    if (!background_) return {0, 0};
    const nanobind::gil_scoped_release release;
    const Background::Took took = background_->wait();
    return {took.wall, took.cpu};
  }

 private:
  std::optional<Background> background_;
};

}  // namespace penstock::bindings
