// CRC-32C (Castagnoli, RFC 3720 appendix B.4), used by TFRecord and by index files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Continues `crc`, the checksum of the bytes before (0 at the beginning), over `size` more bytes.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t crc = 0) noexcept;

// The same without the processor's instruction: eight bytes for each step, from eight tables.
std::uint32_t crc32c_portable(const void* data, std::size_t size, std::uint32_t crc = 0) noexcept;

// A checksum in TFRecord's masked form, which avoids weak checksums of data that contains checksums.
inline std::uint32_t masked_crc32c(const void* data, std::size_t size) noexcept {
  const std::uint32_t crc = crc32c(data, size);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace penstock
