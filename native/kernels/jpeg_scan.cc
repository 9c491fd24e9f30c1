#include "kernels/jpeg_scan.h"

#ifdef PENSTOCK_FAST_JPEG

#include <algorithm>
#include <cstring>

namespace penstock::kernels {
namespace {

constexpr size_t kLoadedAhead = 16;
constexpr int kLargestSum = 1 << 24;

// Copies a segment of a scan without its stuffed zeros, up to a marker or the end. Returns the number of bytes; `data`
// then lies after the marker, which is 0 at the end.
PENSTOCK_FAST_JPEG size_t unstuff(const uint8_t*& data, const uint8_t* end, uint8_t* out, int& marker) {
  const uint8_t* from = data;
  uint8_t* to = out;
  const __m256i full = _mm256_set1_epi8(static_cast<char>(0xFF));
  marker = 0;
  while (from < end) {
    if (end - from > 32) {  // the byte after any of these can be read
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
      const auto found = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, full)));
      const int count = found == 0 ? 32 : __builtin_ctz(found);
      from += count, to += count;
      if (found == 0) continue;
    } else if (*from != 0xFF) {
      *to++ = *from++;
      continue;
    }
    do {
      ++from;
    } while (from < end && *from == 0xFF);
    if (from == end) break;
    const uint8_t kind = *from++;
    if (kind != 0) {
      marker = kind;
      break;
    }
    *to++ = 0xFF;
  }
  data = from;
  return static_cast<size_t>(to - out);
}

// std::memset of this size becomes a string instruction, which takes as long as decoding five symbols.
PENSTOCK_FAST_JPEG_INLINE void clear(int16_t (&values)[64]) {
  for (int i = 0; i < 64; i += 16) _mm256_store_si256(reinterpret_cast<__m256i*>(values + i), _mm256_setzero_si256());
}

HuffmanCode code_of(const JHUFF_TBL& table) {
  HuffmanCode code{};
  std::memcpy(code.counts + 1, table.bits + 1, 16);
  std::memcpy(code.symbols, table.huffval, sizeof code.symbols);
  return code;
}

template <typename Kept, typename... Kind>
bool keep(Kept& kept, const HuffmanCode& code, bool is_chroma, Kind... kind) {
  if (kept.is_known && kept.is_chroma == is_chroma && kept.code == code) return true;
  kept.is_known = build(code, kind..., kept.table);
  kept.is_chroma = is_chroma;
  kept.code = code;
  return kept.is_known;
}

}  // namespace

bool Scan::open(const jpeg_decompress_struct& header, const uint8_t* data, const uint8_t* end) {
  const int count = header.num_components;
  if (header.progressive_mode || header.arith_code || header.data_precision != 8 || header.comps_in_scan != count ||
      header.Ss != 0 || header.Se != 63 || header.Ah != 0 || header.Al != 0) {
    return false;
  }
  if (!(count == 1 && header.jpeg_color_space == JCS_GRAYSCALE) &&
      !(count == 3 && header.jpeg_color_space == JCS_YCbCr))
    return false;
  count_ = count, columns_ = 1, rows_ = 1;
  int blocks = 0;
  for (int i = 0; i < count; ++i) {
    const jpeg_component_info& part = header.comp_info[i];
    const int steps = part.quant_tbl_no;
    if (header.cur_comp_info[i] != &part || steps < 0 || steps >= kTables || !header.quant_tbl_ptrs[steps])
      return false;
    const int most = i == 0 ? 2 : 1;
    if (count > 1 && (part.h_samp_factor > most || part.v_samp_factor > most)) return false;
    Component& component = components_[i];
    component.across = count == 1 ? 1 : part.h_samp_factor;
    component.down = count == 1 ? 1 : part.v_samp_factor;
    component.first = blocks;
    component.dc = 0;
    blocks += component.across * component.down;
    columns_ = std::max(columns_, component.across), rows_ = std::max(rows_, component.down);
  }
  mcus_x_ = (int64_t{header.image_width} + 8 * columns_ - 1) / (8 * columns_);
  if (!prepare_tables(header)) return false;
  rest_ = data, end_ = end;
  interval_ = header.restart_interval, next_restart_ = 0;
  begin_segment();
  return true;
}

bool Scan::prepare_tables(const jpeg_decompress_struct& header) {
  for (int i = 0; i < count_; ++i) {
    const jpeg_component_info& part = header.comp_info[i];
    const int dc = part.dc_tbl_no, ac = part.ac_tbl_no;
    if (dc < 0 || dc >= kTables || ac < 0 || ac >= kTables) return false;
    const JHUFF_TBL *const of_dc = header.dc_huff_tbl_ptrs[dc], *const of_ac = header.ac_huff_tbl_ptrs[ac];
    if (of_dc == nullptr || of_ac == nullptr) return false;
    const bool is_chroma = i > 0 && ac != header.comp_info[0].ac_tbl_no;
    if (!keep(dc_[dc], code_of(*of_dc), false) || !keep(ac_[ac], code_of(*of_ac), is_chroma, is_chroma)) return false;
    components_[i].dc_table = &dc_[dc].table, components_[i].ac_table = &ac_[ac].table;
  }
  return true;
}

PENSTOCK_FAST_JPEG void Scan::begin_segment() {
  const auto most = static_cast<size_t>(end_ - rest_) + kScanSlack;
  if (bytes_.size() < most) bytes_.resize(most + most / 2);
  size_ = unstuff(rest_, end_, bytes_.data(), marker_);
  std::memset(bytes_.data() + size_, 0, kScanSlack);
  window_ = BitWindow{0, bytes_.data(), 63};
  blocks::refill(window_.bits, window_.next, window_.taken);
  left_ = interval_;
  for (Component& component : components_) component.dc = 0;
}

// Whether what was taken lies in the segment.
bool Scan::is_within() const { return window_.position(bytes_.data()) <= static_cast<int64_t>(8 * size_); }

// Whether at most some bits to fill a byte are left.
bool Scan::is_at_end_of_segment() const {
  return window_.position(bytes_.data()) > static_cast<int64_t>(8 * size_) - 8;
}

// Calls `body` with numbers of MCUs up to the next restart.
template <typename Body>
bool Scan::for_mcus(int64_t count, Body body) {
  while (count > 0) {
    if (interval_ > 0 && left_ == 0) {
      if (marker_ != 0xD0 + next_restart_ || !is_at_end_of_segment()) return false;
      next_restart_ = (next_restart_ + 1) % 8;
      begin_segment();
    }
    const int64_t some = interval_ > 0 ? std::min(count, left_) : count;
    if (!body(some) || !is_within()) return false;
    left_ -= some, count -= some;
  }
  for (const Component& component : components_) {
    if (component.dc > kLargestSum || component.dc < -kLargestSum) return false;
  }
  return true;
}

bool Scan::skip(int64_t count) {
  return for_mcus(count, [this](int64_t some) { return skip_some(some); });
}

bool Scan::decode(int64_t count, int wanted) {
  int m = 0;
  return for_mcus(count, [&](int64_t some) {
    for (int64_t i = 0; i < some; ++i) {
      if (!decode_one(m++, wanted)) return false;
    }
    return true;
  });
}

PENSTOCK_FAST_JPEG bool Scan::skip_some(int64_t count) {
  const uint8_t* const limit = bytes_.data() + size_ + kLoadedAhead;
  BitWindow window = window_;
  for (int64_t m = 0; m < count; ++m) {
    for (int c = 0; c < count_; ++c) {
      Component& component = components_[c];
      for (int i = component.across * component.down; i > 0; --i) {
        if (!skip_block(window, *component.dc_table, *component.ac_table, component.dc) || window.next > limit) {
          return false;
        }
      }
    }
  }
  window_ = window;
  return true;
}

PENSTOCK_FAST_JPEG bool Scan::decode_one(int m, int wanted) {
  const uint8_t* const limit = bytes_.data() + size_ + kLoadedAhead;
  BitWindow window = window_;
  ScannedBlock* block = blocks_[m];
  for (int c = 0; c < count_; ++c) {
    Component& component = components_[c];
    const DcTable& dc_table = *component.dc_table;
    const AcTable& ac_table = *component.ac_table;
    for (int i = component.across * component.down; i > 0; --i, ++block) {
      bool is_sound;
      if (c < wanted) {
        clear(block->values);
        is_sound = decode_block(window, dc_table, ac_table, block->values, component.dc, block->last);
        block->values[0] = static_cast<int16_t>(component.dc);
        block->dc = component.dc;
      } else {
        is_sound = skip_block(window, dc_table, ac_table, component.dc);
      }
      if (!is_sound || window.next > limit) return false;
    }
  }
  window_ = window;
  return true;
}

}  // namespace penstock::kernels

#endif
