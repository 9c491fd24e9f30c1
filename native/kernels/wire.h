// The wire format of protocol buffers: tags, varints, lengths, and skipped fields.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// A run of bytes inside a record.
struct Bytes {
  const std::uint8_t* begin;
  const std::uint8_t* end;
  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kGroupEnd = 4, kFixed32 = 5 };

// One field of a message; `payload` is the content of kBytes, for other types the bytes after the tag.
struct Field {
  std::uint32_t number;
  Wire wire;
  Bytes payload;
};

// Returns the bytes of a field at `at`, if it has this tag (of one byte) and a length of one or two bytes, and ends by
// `end`; otherwise `begin` is null, and the field needs the general parser.
inline Bytes short_field(const std::uint8_t* at, const std::uint8_t* end, std::uint8_t tag) {
  if (end - at < 3) return {nullptr, nullptr};
  if (at[0] != tag) return {nullptr, nullptr};
  std::size_t size = at[1];
  at += 2;
  if (size >= 0x80) {
    if (*at >= 0x80) return {nullptr, nullptr};
    size = (size & 0x7f) | static_cast<std::size_t>(*at++) << 7;
  }
  if (size > static_cast<std::size_t>(end - at)) return {nullptr, nullptr};
  return {at, at + size};
}

// Parses a message, field by field. No byte outside is ever read.
class WireReader {
 public:
  explicit WireReader(Bytes message) : at_(message.begin), end_(message.end) {}

  bool done() const { return at_ == end_; }
  const std::uint8_t* at() const { return at_; }

  // Reads the next field as a whole: groups with all their content. Returns false if the message is damaged there.
  bool next(Field* field) {
    std::uint64_t tag;
    if (!varint(&tag) || !valid(tag)) return false;
    field->number = static_cast<std::uint32_t>(tag >> 3);
    field->wire = static_cast<Wire>(tag & 7);
    if (field->wire == Wire::kBytes) return bytes(&field->payload);
    field->payload.begin = at_;
    if (!skip(field->number, field->wire, kDeepest)) return false;
    field->payload.end = at_;
    return true;
  }

  // Reads a number of up to ten bytes; bits beyond the 64th are dropped, as in protobuf.
  bool varint(std::uint64_t* value) {
    if (at_ != end_ && *at_ < 0x80) {
      *value = *at_++;
      return true;
    }
    return long_varint(value);
  }

  // Reads a length, and that many bytes.
  bool bytes(Bytes* payload) {
    std::uint64_t size;
    if (!varint(&size) || size > static_cast<std::size_t>(end_ - at_)) return false;
    *payload = {at_, at_ + size};
    at_ += size;
    return true;
  }

 private:
  static constexpr int kDeepest = 100;  // groups inside one another, protobuf's own limit

  static bool valid(std::uint64_t tag) { return tag >> 3 && tag >> 32 == 0; }
  bool long_varint(std::uint64_t* value);
  bool skip(std::uint32_t number, Wire wire, int depth);
  bool skip_bytes(std::size_t count);

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace penstock
