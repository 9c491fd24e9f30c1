// The pool as Python owns it.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/pool.h"

namespace penstock::bindings {

// Its blocks share what is inside.
struct PoolHandle {
  explicit PoolHandle(std::size_t idle_limit) : pool(std::make_shared<Pool>(idle_limit)) {}
  std::shared_ptr<Pool> pool;
};

}  // namespace penstock::bindings
