// The footer of a Parquet file (`FileMetaData` in Thrift's compact protocol), for finding column chunks that contradict
// the schema, which other readers do not check.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/wire.h"

namespace penstock {

// Returns whether each column chunk agrees with its column, all chunks of the first row group first: 1 if the type is
// that of the column, histograms of levels have the lengths that follow from the schema, minimum and maximum have at
// least the bytes of one value, and nothing is encrypted. Empty if the footer cannot be read, repeats a field, or has a
// row group that lacks columns.
std::vector<std::uint8_t> consistent_chunks(Bytes footer);

}  // namespace penstock
