#include "kernels/padded.h"

#include <cstring>

namespace penstock {

namespace {

// Returns the bytes of an array of these sizes.
std::size_t bytes_of(const std::ptrdiff_t* sizes, std::size_t dims, std::size_t width) {
  for (std::size_t d = 0; d < dims; ++d) width *= static_cast<std::size_t>(sizes[d]);
  return width;
}

}  // namespace

void copy_into_corner(char* to, const std::ptrdiff_t* whole, const char* from, const std::ptrdiff_t* sizes,
                      std::size_t dims, std::size_t width) {
  std::size_t outer = dims;  // dimensions behind this one are as large as those of `whole`, and move as one run
  while (outer > 0 && sizes[outer - 1] == whole[outer - 1]) --outer;
  const std::size_t run = bytes_of(sizes + (outer ? outer - 1 : 0), dims - (outer ? outer - 1 : 0), width);
  if (run == 0) return;
  if (outer <= 1) {
    std::memmove(to, from, run);
    return;
  }
  const std::size_t step = bytes_of(whole + 1, dims - 1, width), its_step = bytes_of(sizes + 1, dims - 1, width);
  for (std::ptrdiff_t i = 0; i < sizes[0]; ++i, to += step, from += its_step)
    copy_into_corner(to, whole + 1, from, sizes + 1, dims - 1, width);
}

}  // namespace penstock
