// The pool, owned by Python.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/pool.h"

namespace penstock::bindings {

// Blocks share the contents.
struct PoolHandle {
  explicit PoolHandle(std::size_t idle_limit) : pool(std::make_shared<Pool>(idle_limit)) {}
  std::shared_ptr<Pool> pool;
};

}  // namespace penstock::bindings
