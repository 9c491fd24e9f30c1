// Records of files into columns in one pass: each is read, checked and parsed while in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/example.h"
#include "kernels/records.h"

namespace penstock {

// Scratch memory of a call besides its columns; when reused, a steady run allocates nothing.
struct FilesMemory {
  Located located;
  std::unique_ptr<std::uint8_t[]> bytes;  // of one record after another, and of the texts of columns
  std::size_t room = 0;
};

// Parses the records at `rows`, 0 <= row < files.count(), one after another. Returns false for any failure: a bad file,
// checksum or record, or too little room. Reading and parsing separately finds the error.
bool parse_files(RecordFiles& files, const std::int64_t* rows, std::size_t count, const ExampleSpec& spec,
                 const FeatureColumn* columns, FilesMemory& memory);

}  // namespace penstock
