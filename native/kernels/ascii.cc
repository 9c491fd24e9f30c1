#include "kernels/ascii.h"

#include <cstdint>
#include <cstring>

namespace penstock {

bool is_ascii(const unsigned char* data, std::size_t size) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t), kLine = 8 * kWord;
  constexpr std::uint64_t kOthers = 0x8080808080808080u;
  const auto word = [data](std::size_t at) noexcept {
    std::uint64_t loaded;
    std::memcpy(&loaded, data + at, kWord);
    return loaded;
  };
  std::uint64_t seen = 0;
  std::size_t at = 0;
  for (; size - at >= kLine; at += kLine) {
    for (std::size_t i = 0; i < kLine; i += kWord) seen |= word(at + i);
    if (seen & kOthers) return false;
  }
  for (; size - at >= kWord; at += kWord) seen |= word(at);
  if (size >= kWord) {
    seen |= word(size - kWord);  // some of it again
  } else {
    for (; at < size; ++at) seen |= data[at];
  }
  return !(seen & kOthers);
}

}  // namespace penstock
