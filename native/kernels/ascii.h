// A test for ASCII bytes: most text is ASCII, and then needs no decoding.
#pragma once

#include <cstddef>

namespace penstock {

bool is_ascii(const unsigned char* data, std::size_t size) noexcept;

}  // namespace penstock
