// CRC-32C: the values of the standard; the processor's own equal to the tables, for every length and place.
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/crc32c.h"
#include "tests/check.h"

using penstock::crc32c;
using penstock::crc32c_portable;

int main() {
  // RFC 3720, appendix B.4.
  std::vector<unsigned char> bytes(32, 0);
  CHECK(crc32c(bytes.data(), 32) == 0x8a9136aa);
  std::memset(bytes.data(), 0xff, 32);
  CHECK(crc32c(bytes.data(), 32) == 0x62a8ab43);
  for (unsigned char i = 0; i < 32; ++i) bytes[i] = i;
  CHECK(crc32c(bytes.data(), 32) == 0x46dd794e);
  CHECK(crc32c("123456789", 9) == 0xe3069283);
  CHECK(crc32c(nullptr, 0) == 0 && crc32c_portable(nullptr, 0) == 0);

  std::mt19937 random(1);
  std::vector<unsigned char> data(20'000);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  const auto check = [&](std::size_t begin, std::size_t size) {
    const std::vector<unsigned char> exact(data.begin() + static_cast<std::ptrdiff_t>(begin),
                                           data.begin() + static_cast<std::ptrdiff_t>(begin + size));
    const std::uint32_t whole = crc32c(exact.data(), size);
    CHECK(whole == crc32c_portable(exact.data(), size));
    const std::size_t half = size / 2;
    CHECK(whole == crc32c(exact.data() + half, size - half, crc32c(exact.data(), half)));
    CHECK(whole == crc32c_portable(exact.data() + half, size - half, crc32c_portable(exact.data(), half)));
  };
  for (std::size_t size = 0; size < 300; ++size) check(size % 9, size);
  for (const std::size_t edge : {1024u, 3072u, 6144u, 9216u, 16'000u})
    for (std::size_t size = edge - 17; size <= edge + 17; ++size) check(size % 8, size);
}
