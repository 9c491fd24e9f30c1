#include "kernels/wire.h"

namespace penstock {

bool WireReader::long_varint(std::uint64_t* value) {
  std::uint64_t found = 0;
  for (int shift = 0; shift < 70 && at_ != end_; shift += 7) {
    const std::uint64_t byte = *at_++;
    found |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = found;
      return true;
    }
  }
  return false;
}

bool WireReader::skip_bytes(std::size_t count) {
  if (static_cast<std::size_t>(end_ - at_) < count) return false;
  at_ += count;
  return true;
}

bool WireReader::skip(std::uint32_t number, Wire wire, int depth) {
  std::uint64_t tag;
  Bytes payload;
  switch (wire) {
    case Wire::kVarint:
      return varint(&tag);
    case Wire::kFixed64:
      return skip_bytes(8);
    case Wire::kFixed32:
      return skip_bytes(4);
    case Wire::kBytes:
      return bytes(&payload);
    case Wire::kGroup:
      if (!depth) return false;
      while (varint(&tag) && valid(tag)) {
        const auto inner = static_cast<std::uint32_t>(tag >> 3);
        if (static_cast<Wire>(tag & 7) == Wire::kGroupEnd) return inner == number;
        if (!skip(inner, static_cast<Wire>(tag & 7), depth - 1)) return false;
      }
      return false;
    default:  // the end of a group that did not begin, or an unknown type
      return false;
  }
}

}  // namespace penstock
