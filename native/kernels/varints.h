// Packed varints: a run of them, one after another, as a repeated integer field of protocol buffers has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/wire.h"

namespace penstock {

// Room for values, and how many there are: those beyond the room are counted, and lost.
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

// Appends all varints of `packed`, which fill it exactly; false if they do not, or one has more than ten bytes. Bytes
// up to `readable`, at or after the end of `packed`, may be read; what is there does not matter.
bool unpack_varints(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink);

// All ways to do it that this machine has, which give the same; the last is the fastest, and the one above.
using UnpackVarints = bool (*)(Bytes packed, const std::uint8_t* readable, Sink<std::int64_t>* sink);
std::vector<UnpackVarints> ways_to_unpack_varints();

}  // namespace penstock
