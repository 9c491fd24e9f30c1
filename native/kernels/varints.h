// Packed varints, one after another, as in a repeated integer field of protocol buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/wire.h"

namespace penstock {

// Room for values, and their number: values beyond the room are counted and dropped.
template <class Value>
struct Sink {
  Value* values;
  std::int64_t room;
  std::int64_t count = 0;

  void push(Value value) {
    if (count < room) values[count] = value;
    ++count;
  }
};

// Appends all varints of `packed`, which fill it exactly; returns false otherwise, or if one has more than ten bytes.
// Bytes up to `readable`, at or after the end of `packed`, may be read, whatever their values.
bool unpack_varints(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink);

// All implementations for this machine, with equal results; the last is the fastest, used above.
using UnpackVarints = bool (*)(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink);
std::vector<UnpackVarints> ways_to_unpack_varints();

}  // namespace penstock
