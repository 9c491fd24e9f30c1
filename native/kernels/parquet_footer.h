// The footer of a Parquet file (`FileMetaData` in Thrift's compact protocol), as far as it tells which column chunks
// contradict the schema: other readers take those for granted.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/wire.h"

namespace penstock {

// Whether each column chunk agrees with its column, all chunks of the first row group first: 1 if its type is that of
// the column, its histograms of levels have the lengths that follow from the schema, least and greatest values have at
// least the bytes of one value, and nothing is encrypted. Empty if the footer cannot be read, repeats a field, or has a
// row group that lacks columns.
std::vector<std::uint8_t> consistent_chunks(Bytes footer);

}  // namespace penstock
