// Copies of arrays into larger ones, such as a sequence into its row of a padded batch.
#pragma once

#include <cstddef>

namespace penstock {

// Copies a C-contiguous array of `sizes` into the start of every dimension of one of `whole`, both with `dims`
// dimensions and items of `width` bytes; no size exceeds that of `whole`. The rest of `to` keeps its content.
void copy_into_corner(char* to, const std::ptrdiff_t* whole, const char* from, const std::ptrdiff_t* sizes,
                      std::size_t dims, std::size_t width);

}  // namespace penstock
