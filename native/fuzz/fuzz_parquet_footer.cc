// Any bytes are a footer or none; the answer is about chunks that the bytes have room for.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/parquet_footer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto copy = std::make_unique<uint8_t[]>(size);  // not a byte more than there is
  for (size_t i = 0; i < size; ++i) copy[i] = data[i];
  const std::vector<uint8_t> found = penstock::consistent_chunks({copy.get(), copy.get() + size});
  penstock::fuzz::demand(found.size() <= size, "more chunks than bytes");
  for (const uint8_t each : found) penstock::fuzz::demand(each <= 1, "neither true nor false");
  return 0;
}
