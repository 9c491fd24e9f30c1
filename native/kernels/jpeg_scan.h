// The blocks of a baseline JPEG file, MCU by MCU: an MCU has the blocks of all components for one area of the image.
#pragma once

#include "kernels/jpeg_blocks.h"

#ifdef PENSTOCK_FAST_JPEG

#include <cstdio>
#include <vector>

#include <jpeglib.h>

namespace penstock::kernels {

struct ScannedBlock {
  alignas(32) int16_t values[64];
  int dc;    // as summed up; `values` has its low 16 bits
  int last;  // the coefficient of the file after which all are zero

  bool is_flat() const { return last == 0; }
  bool is_in_corner() const { return last < 10; }  // all values are in the upper left 4 x 4
};

// Reads forward only. Whatever is not as it ought to be makes a method return false; then the scan is at no place.
class Scan {
 public:
  // Prepares to read the scan in [data, end) of a file with this header. Returns false if it is not of the usual kind.
  bool open(const jpeg_decompress_struct& header, const uint8_t* data, const uint8_t* end);

  int64_t mcus_x() const { return mcus_x_; }
  int block_columns() const { return columns_; }  // of an MCU
  int block_rows() const { return rows_; }
  int across(int component) const { return components_[component].across; }  // its blocks in a row of an MCU
  int down(int component) const { return components_[component].down; }

  // Passes over MCUs.
  bool skip(int64_t count);
  // Decodes one or two MCUs: the values of the first components, no more than the ends of blocks of the others.
  bool decode(int64_t count, int wanted);

  // After the last MCU: whether a marker follows, or nothing.
  bool is_at_end() const { return marker_ != 0 || is_at_end_of_segment(); }

  // The blocks of a component in the m-th MCU that was decoded last, row by row.
  const ScannedBlock* blocks(int m, int component) const { return blocks_[m] + components_[component].first; }

 private:
  static constexpr int kMostBlocks = 6, kTables = 4;

  struct Component {
    int across, down, first;  // blocks of an MCU, and the first of them
    const DcTable* dc_table;
    const AcTable* ac_table;
    int dc;
  };
  template <typename Table>
  struct Kept {
    bool is_known = false, is_chroma = false;
    HuffmanCode code;
    Table table;
  };

  bool prepare_tables(const jpeg_decompress_struct& header);
  void begin_segment();
  bool is_within() const;
  bool is_at_end_of_segment() const;
  bool skip_some(int64_t count);
  bool decode_one(int m, int wanted);
  template <typename Body>
  bool for_mcus(int64_t count, Body body);

  int count_ = 0;
  Component components_[3];
  int64_t mcus_x_ = 0;
  int columns_ = 1, rows_ = 1;
  Kept<DcTable> dc_[kTables];
  Kept<AcTable> ac_[kTables];

  const uint8_t *rest_ = nullptr, *end_ = nullptr;  // of the file, after this segment
  int marker_ = 0;                                  // that ended it; 0: the end of the file
  int64_t interval_ = 0, left_ = 0;                 // MCUs from one restart to the next, and until the next
  int next_restart_ = 0;
  std::vector<uint8_t> bytes_;  // of the segment, without stuffing, and kScanSlack
  size_t size_ = 0;
  BitWindow window_;
  ScannedBlock blocks_[2][kMostBlocks];
};

}  // namespace penstock::kernels

#endif
