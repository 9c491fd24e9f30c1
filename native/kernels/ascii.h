// Whether bytes are ASCII, which most text is: then it needs no decoding.
#pragma once

#include <cstddef>

namespace penstock {

bool is_ascii(const unsigned char* data, std::size_t size) noexcept;

}  // namespace penstock
