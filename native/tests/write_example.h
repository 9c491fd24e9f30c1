// Writes Examples in the wire format of protocol buffers, and records as TFRecord files have them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/crc32c.h"

namespace penstock::tests {

inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

inline std::string field(int number, const std::string& content) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(content.size()) + content;
}

// An entry of a map from names to features.
inline std::string entry(const std::string& name, const std::string& value) {
  return field(1, field(1, name) + field(2, value));
}

inline std::string framed(const std::string& text) {
  std::string made(16 + text.size(), '\0');
  const std::uint64_t length = text.size();
  std::memcpy(made.data(), &length, 8);
  const std::uint32_t of_length = masked_crc32c(made.data(), 8), of_text = masked_crc32c(text.data(), text.size());
  std::memcpy(made.data() + 8, &of_length, 4);
  std::memcpy(made.data() + 12, text.data(), text.size());
  std::memcpy(made.data() + 12 + text.size(), &of_text, 4);
  return made;
}

}  // namespace penstock::tests
