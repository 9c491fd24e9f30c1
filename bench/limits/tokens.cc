// The limit of the `tokens` workload: documents to packed sequences with nothing in between.
//
// Windows of documents are sorted, the longest first, and each goes into the fullest sequence that it fits into. Then
// one sequence after another is filled: tokens, segment numbers, positions, padding. Reuses its memory, hands over no
// batches, checks nothing, and cannot be resumed.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

// The sequences with room left, by the amount: one set bit per amount, and one per word that has any set bit.
class Rooms {
 public:
  explicit Rooms(int64_t length)
      : first_(static_cast<size_t>(length) + 1, -1), bits_((length >> 6) + 1), words_((length >> 12) + 1) {}

  // Returns the smallest room that is at least `need`, or -1.
  int64_t at_least(int64_t need) const {
    const uint64_t here = bits_[need >> 6] >> (need & 63);
    if (here) return need + std::countr_zero(here);
    int64_t word = (need >> 6) + 1;
    for (size_t i = static_cast<size_t>(word >> 6); i < words_.size(); ++i) {
      const uint64_t there = i == static_cast<size_t>(word >> 6) ? words_[i] >> (word & 63) << (word & 63) : words_[i];
      if (!there) continue;
      word = static_cast<int64_t>(i << 6) + std::countr_zero(there);
      return (word << 6) + std::countr_zero(bits_[word]);
    }
    return -1;
  }

  void put(int64_t room, int32_t sequence, std::vector<int32_t>& next) {
    next[sequence] = first_[room];
    first_[room] = sequence;
    bits_[room >> 6] |= uint64_t{1} << (room & 63);
    words_[room >> 12] |= uint64_t{1} << (room >> 6 & 63);
  }

  int32_t take(int64_t room, const std::vector<int32_t>& next) {
    const int32_t sequence = first_[room];
    first_[room] = next[sequence];
    if (first_[room] < 0 && !(bits_[room >> 6] &= ~(uint64_t{1} << (room & 63))))
      words_[room >> 12] &= ~(uint64_t{1} << (room >> 6 & 63));
    return sequence;
  }

 private:
  std::vector<int32_t> first_;  // heads of the lists of sequences with each room
  std::vector<uint64_t> bits_, words_;
};

struct Window {
  std::vector<int32_t> order, sequence_of, next, number, last, begin, documents;

  // Packs documents low..high; afterwards `documents` lists one sequence after another, from `begin[sequence]`.
  int32_t pack(const int64_t* splits, int64_t low, int64_t high, int64_t length) {
    const auto count = static_cast<size_t>(high - low);
    const auto size = [&](int32_t i) { return splits[low + i + 1] - splits[low + i]; };
    // The longest first, by counting.
    last.assign(static_cast<size_t>(length) + 2, 0);
    for (size_t i = 0; i < count; ++i) ++last[length - size(static_cast<int32_t>(i)) + 1];
    for (size_t i = 1; i < last.size(); ++i) last[i] += last[i - 1];
    order.resize(count);
    for (size_t i = 0; i < count; ++i) order[last[length - size(static_cast<int32_t>(i))]++] = static_cast<int32_t>(i);
    sequence_of.resize(count);
    next.resize(count);
    Rooms rooms(length);
    int32_t opened = 0;
    for (const int32_t i : order) {
      int64_t room = rooms.at_least(size(i));
      const int32_t sequence = room < 0 ? opened++ : rooms.take(room, next);
      room = (room < 0 ? length : room) - size(i);
      sequence_of[i] = sequence;
      if (room) rooms.put(room, sequence, next);
    }
    // Sequences in the order of their first documents, documents in the order of their sequences.
    number.assign(static_cast<size_t>(opened), -1);
    int32_t named = 0;
    begin.assign(static_cast<size_t>(opened) + 2, 0);
    for (size_t i = 0; i < count; ++i) {
      int32_t& mine = number[sequence_of[i]];
      if (mine < 0) mine = named++;
      sequence_of[i] = mine;
      ++begin[mine + 2];
    }
    for (size_t i = 2; i < begin.size(); ++i) begin[i] += begin[i - 1];
    documents.resize(count);
    for (size_t i = 0; i < count; ++i) documents[begin[sequence_of[i] + 1]++] = static_cast<int32_t>(i);
    return opened;
  }
};

struct Epoch {
  int64_t documents, length, window, slots;
  const int32_t* tokens;
  const int64_t* splits;

  // Returns the first document of each window, and the end; each window holds at least `window` tokens.
  std::vector<int64_t> windows() const {
    std::vector<int64_t> lows{0};
    for (int64_t at = 1; at <= documents; ++at)
      if (at == documents || splits[at] - splits[lows.back()] >= window) lows.push_back(at);
    return lows;
  }

  // Packs documents low..high; writes sequence s of this thread to slot s % slots.
  void pack(Window& packed, int64_t low, int64_t high, int64_t& made, int32_t* out, int32_t* segment_ids,
            int32_t* positions) const {
    const int32_t opened = packed.pack(splits, low, high, length);
    for (int32_t sequence = 0; sequence < opened; ++sequence, ++made) {
      const int64_t row = made % slots * length;
      int64_t at = row;
      int32_t segment = 0;
      for (int32_t i = packed.begin[sequence]; i < packed.begin[sequence + 1]; ++i) {
        const int64_t from = splits[low + packed.documents[i]], size = splits[low + packed.documents[i] + 1] - from;
        std::memcpy(out + at, tokens + from, static_cast<size_t>(size) * sizeof(int32_t));
        std::fill_n(segment_ids + at, size, ++segment);
        for (int64_t j = 0; j < size; ++j) positions[at + j] = static_cast<int32_t>(j);
        at += size;
      }
      const int64_t rest = row + length - at;
      std::fill_n(out + at, rest, 0);
      std::fill_n(segment_ids + at, rest, 0);
      std::fill_n(positions + at, rest, 0);
    }
  }
};

}  // namespace

// Packs every document; each thread takes windows that no other thread has begun. Thread t writes repeatedly to slots
// t * slots up to (t + 1) * slots of the three arrays of shape (threads * slots, length), and sets made[t] to the
// number of sequences that it packed.
extern "C" void tokens_epoch(int64_t documents, int64_t length, int64_t window, int64_t slots, int64_t threads,
                             const int32_t* tokens, const int64_t* splits, int32_t* out, int32_t* segment_ids,
                             int32_t* positions, int64_t* made) {
  const Epoch epoch{documents, length, window, slots, tokens, splits};
  const std::vector<int64_t> lows = epoch.windows();
  std::atomic<size_t> next{0};
  const auto work = [&](int64_t thread) {
    Window packed;
    const int64_t offset = thread * slots * length;
    made[thread] = 0;
    for (size_t i = next++; i + 1 < lows.size(); i = next++)
      epoch.pack(packed, lows[i], lows[i + 1], made[thread], out + offset, segment_ids + offset, positions + offset);
  };
  std::vector<std::thread> others;
  for (int64_t thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  for (std::thread& other : others) other.join();
}
