// Records of files into columns in one go: each is read, checked and parsed while it is in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/example.h"
#include "kernels/records.h"

namespace penstock {

// What one call needs beside its columns; used again, a steady run takes no memory.
struct FilesMemory {
  Located located;
  std::unique_ptr<std::uint8_t[]> bytes;  // of a record after another, and of the texts that columns point to
  std::size_t room = 0;
};

// Parses the records at `rows`, 0 <= row < files.count(), one after another. False where anything is not as it should
// be: a file, a checksum, a record, or too little room. What it was is found by reading and parsing apart from each
// other.
bool parse_files(RecordFiles& files, const std::int64_t* rows, std::size_t count, const ExampleSpec& spec,
                 const FeatureColumn* columns, FilesMemory& memory);

}  // namespace penstock
