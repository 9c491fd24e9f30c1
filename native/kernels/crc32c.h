// CRC-32C (Castagnoli, RFC 3720 appendix B.4), as TFRecord, and our own index files, use it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// The checksum of the bytes before, `crc` (0 at the beginning), continued over `size` more.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t crc = 0) noexcept;

// The same without the processor's own instruction: eight bytes a step from eight tables.
std::uint32_t crc32c_portable(const void* data, std::size_t size, std::uint32_t crc = 0) noexcept;

// A checksum as TFRecord stores it, so that a checksum of data with checksums in it is not a poor one.
inline std::uint32_t masked_crc32c(const void* data, std::size_t size) noexcept {
  const std::uint32_t crc = crc32c(data, size);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace penstock
