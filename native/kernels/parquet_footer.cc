#include "kernels/parquet_footer.h"

#include <cstddef>
#include <limits>

namespace penstock {

namespace {

enum class Type : std::uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

enum Physical : std::int64_t { kBoolean, kInt32, kInt64, kInt96, kFloat, kDouble, kByteArray, kFixedBytes };
enum Repetition : std::int64_t { kRequired, kOptional, kRepeated };  // others are as required

constexpr int kDeepest = 60;  // nested values; Thrift's own limit is 64

// Parses values, one after another. No byte outside is ever read.
class ThriftReader {
 public:
  explicit ThriftReader(Bytes bytes) : at_(bytes.begin), end_(bytes.end) {}

  bool byte(std::uint8_t* value) {
    if (at_ == end_) return false;
    *value = *at_++;
    return true;
  }

  bool varint(std::uint64_t* value) {
    *value = 0;
    std::uint8_t next = 0x80;
    for (int shift = 0; next & 0x80; shift += 7) {
      if (shift > 63 || !byte(&next)) return false;
      *value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
    }
    return true;
  }

  bool number(std::int64_t* value) {
    std::uint64_t zigzag;
    if (!varint(&zigzag)) return false;
    *value = static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
    return true;
  }

  bool binary(std::uint64_t* size) { return varint(size) && pass(*size); }

  bool list(Type* element, std::uint64_t* size) {
    std::uint8_t head;
    if (!byte(&head)) return false;
    *element = static_cast<Type>(head & 0xf);
    *size = head >> 4;
    if (*size == 0xf && !varint(size)) return false;
    return *size <= static_cast<std::size_t>(end_ - at_);  // each element has at least one byte
  }

  // Calls `read(number, type)` for each field, in ascending order; `read` consumes the value, or returns false to stop.
  template <class Read>
  bool fields(const Read& read) {
    std::int64_t number = 0;
    for (;;) {
      std::uint8_t head;
      if (!byte(&head)) return false;
      const Type type = static_cast<Type>(head & 0xf);
      if (type == Type::kStop) return true;
      const std::int64_t before = number;
      if (head >> 4)
        number += head >> 4;
      else if (!this->number(&number))
        return false;
      if (number <= before || number > std::numeric_limits<std::int16_t>::max()) return false;
      if (!read(number, type)) return false;
    }
  }

  template <class Read>
  bool structs(const Read& read) {
    Type element;
    std::uint64_t size;
    if (!list(&element, &size) || element != Type::kStruct) return false;
    for (; size; --size)
      if (!read()) return false;
    return true;
  }

  // Other readers assume the element type of the format, whatever type the list declares.
  bool skip_list(Type expected) {
    Type element;
    std::uint64_t size;
    return list(&element, &size) && element == expected && skip_elements(element, size, 0);
  }

  [[gnu::noinline]] bool skip(Type type, int depth = 0) {  // inlined into itself, it takes ten seconds to compile
    if (depth > kDeepest) return false;
    std::uint64_t size;
    std::int64_t ignored;
    switch (type) {
      case Type::kTrue:
      case Type::kFalse:
        return true;
      case Type::kByte:
        return pass(1);
      case Type::kInt16:
      case Type::kInt32:
      case Type::kInt64:
        return number(&ignored);
      case Type::kDouble:
        return pass(8);
      case Type::kBinary:
        return binary(&size);
      case Type::kList:
      case Type::kSet: {
        Type element;
        return list(&element, &size) && skip_elements(element, size, depth);
      }
      case Type::kStruct:
        return fields([&](std::int64_t, Type inner) { return skip(inner, depth + 1); });
      default:  // the format has no maps
        return false;
    }
  }

 private:
  bool pass(std::uint64_t count) {
    if (count > static_cast<std::size_t>(end_ - at_)) return false;
    at_ += count;
    return true;
  }

  bool skip_elements(Type element, std::uint64_t size, int depth) {
    if (element == Type::kTrue || element == Type::kFalse) return pass(size);
    for (; size; --size)
      if (!skip(element, depth + 1)) return false;
    return true;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

struct Column {
  std::int64_t type;
  std::uint64_t width;  // bytes of the shortest value
  std::uint64_t repetition_levels;
  std::uint64_t definition_levels;
};

struct Element {
  std::int64_t type = -1, type_length = 0, repetition = kRequired, children = 0;
};

bool read_element(ThriftReader& reader, Element* element) {
  return reader.fields([&](std::int64_t field, Type type) {
    if (type != Type::kInt32) return reader.skip(type);
    switch (field) {
      case 1:
        return reader.number(&element->type);
      case 2:
        return reader.number(&element->type_length);
      case 3:
        return reader.number(&element->repetition);
      case 5:
        return reader.number(&element->children);
      default:
        return reader.skip(type);
    }
  });
}

std::uint64_t width_of(const Element& element) {
  switch (element.type) {
    case kBoolean:
      return 1;
    case kInt32:
    case kFloat:
      return 4;
    case kInt64:
    case kDouble:
      return 8;
    case kInt96:
      return 12;
    case kFixedBytes:
      return element.type_length > 0 ? static_cast<std::uint64_t>(element.type_length) : 0;
    default:
      return 0;
  }
}

// The elements come depth first: each group before its children.
class Schema {
 public:
  bool read(ThriftReader& reader) {
    return reader.structs([&] {
      Element element;
      return read_element(reader, &element) && add(element);
    }) && open_.empty();
  }

  const std::vector<Column>& columns() const { return columns_; }

 private:
  struct Group {
    std::int64_t left;
    std::uint64_t repetition_levels, definition_levels;
  };

  bool add(const Element& element) {
    Group inside{element.children, 1, 1};
    if (open_.empty()) {
      if (has_root_) return false;
      has_root_ = true;
    } else {
      inside.repetition_levels = open_.back().repetition_levels + (element.repetition == kRepeated);
      inside.definition_levels =
          open_.back().definition_levels + (element.repetition == kOptional || element.repetition == kRepeated);
      --open_.back().left;
    }
    if (element.children > 0)
      open_.push_back(inside);
    else if (element.type >= 0)
      columns_.push_back({element.type, width_of(element), inside.repetition_levels, inside.definition_levels});
    while (!open_.empty() && !open_.back().left) open_.pop_back();
    return true;
  }

  bool has_root_ = false;
  std::vector<Group> open_;
  std::vector<Column> columns_;
};

bool read_statistics(ThriftReader& reader, const Column& column, bool* consistent) {
  return reader.fields([&](std::int64_t field, Type type) {
    if (type != Type::kBinary || (field != 1 && field != 2 && field != 5 && field != 6)) return reader.skip(type);
    std::uint64_t size;
    if (!reader.binary(&size)) return false;
    if (size < column.width) *consistent = false;
    return true;
  });
}

bool read_levels(ThriftReader& reader, std::uint64_t levels, bool* consistent) {
  Type element;
  std::uint64_t size;
  if (!reader.list(&element, &size) || element != Type::kInt64) return false;
  if (size && size != levels) *consistent = false;
  std::int64_t ignored;
  for (; size; --size)
    if (!reader.number(&ignored)) return false;
  return true;
}

bool read_size_statistics(ThriftReader& reader, const Column& column, bool* consistent) {
  return reader.fields([&](std::int64_t field, Type type) {
    if (field == 1 && type == Type::kInt64 && column.type != kByteArray) *consistent = false;
    if (field == 2 && type == Type::kList) return read_levels(reader, column.repetition_levels, consistent);
    if (field == 3 && type == Type::kList) return read_levels(reader, column.definition_levels, consistent);
    return reader.skip(type);
  });
}

bool read_metadata(ThriftReader& reader, const Column& column, bool* consistent) {
  std::int64_t stored_as = -1;
  const bool whole = reader.fields([&](std::int64_t field, Type type) {
    if (field == 1 && type == Type::kInt32) return reader.number(&stored_as);
    if (type == Type::kList)
      return reader.skip_list(field == 2 ? Type::kInt32 : field == 3 ? Type::kBinary : Type::kStruct);
    if (field == 12 && type == Type::kStruct) return read_statistics(reader, column, consistent);
    if (field == 16 && type == Type::kStruct) return read_size_statistics(reader, column, consistent);
    return reader.skip(type);
  });
  if (stored_as != column.type) *consistent = false;
  return whole;
}

bool read_chunk(ThriftReader& reader, const Column& column, bool* consistent) {
  bool has_metadata = false;
  const bool whole = reader.fields([&](std::int64_t field, Type type) {
    if (field == 3 && type == Type::kStruct) {
      has_metadata = true;
      return read_metadata(reader, column, consistent);
    }
    if (field == 8) *consistent = false;  // encrypted
    return reader.skip(type);
  });
  if (!has_metadata) *consistent = false;
  return whole;
}

bool read_row_group(ThriftReader& reader, const std::vector<Column>& columns, std::vector<std::uint8_t>* found) {
  std::size_t column = 0;
  return reader.fields([&](std::int64_t field, Type type) {
    if (field != 1 || type != Type::kList) return reader.skip(type);
    return reader.structs([&] {
      if (column == columns.size()) return false;
      bool consistent = true;
      if (!read_chunk(reader, columns[column++], &consistent)) return false;
      found->push_back(consistent);
      return true;
    });
  }) && column == columns.size();
}

}  // namespace

std::vector<std::uint8_t> consistent_chunks(Bytes footer) {
  ThriftReader reader(footer);
  Schema schema;
  std::vector<std::uint8_t> found;
  const bool whole = reader.fields([&](std::int64_t field, Type type) {
    if (field == 2 && type == Type::kList) return schema.read(reader);
    if (field == 4 && type == Type::kList)
      return reader.structs([&] { return read_row_group(reader, schema.columns(), &found); });
    return reader.skip(type);
  });
  return whole ? found : std::vector<std::uint8_t>();
}

}  // namespace penstock
