// Footers of one column: chunks that agree with the schema, those that do not, and bytes that are no footer.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/parquet_footer.h"
#include "tests/check.h"

namespace {

using Found = std::vector<std::uint8_t>;

Found found_in(const std::string& footer) {
  const std::vector<std::uint8_t> copy(footer.begin(), footer.end());  // not a byte more than there is
  return penstock::consistent_chunks({copy.data(), copy.data() + copy.size()});
}

std::string text(std::initializer_list<int> bytes) { return std::string(bytes.begin(), bytes.end()); }

// A schema of a root and one optional column of `int64`, and a row group whose one chunk has these fields.
std::string footer(const std::string& chunk) {
  const std::string root = text({0x55, 2, 0}), column = text({0x15, 4, 0x25, 2, 0});
  return text({0x29, 0x2c}) + root + column + text({0x29, 0x1c, 0x19, 0x1c}) + chunk + text({0, 0, 0});
}

std::string metadata(const std::string& fields, int type = 4) { return text({0x3c, 0x15, type}) + fields + text({0}); }

// Field 16: histograms of repetition and definition levels.
std::string levels(int repetition, int definition) {
  std::string made = text({0xfc, 0x29, repetition << 4 | 6}) + std::string(repetition, 2);
  return made + text({0x19, definition << 4 | 6}) + std::string(definition, 2) + text({0});
}

// Field 12: a greatest value of so many bytes.
std::string greatest(int size) { return text({0xbc, 0x58, size}) + std::string(size, 'x') + text({0}); }

void test_chunks() {
  CHECK(found_in(footer(metadata(""))) == Found{1});
  CHECK(found_in(footer(metadata("", 2))) == Found{0});
  CHECK(found_in(footer(metadata(levels(1, 2)))) == Found{1});
  CHECK(found_in(footer(metadata(levels(0, 0)))) == Found{1});
  CHECK(found_in(footer(metadata(levels(2, 2)))) == Found{0});
  CHECK(found_in(footer(metadata(levels(1, 3)))) == Found{0});
  CHECK(found_in(footer(metadata(greatest(8)))) == Found{1});
  CHECK(found_in(footer(metadata(greatest(0)))) == Found{0});
  CHECK(found_in(footer(metadata(greatest(7)))) == Found{0});
  CHECK(found_in(footer(text({0x26, 8}))) == Found{0});                         // no metadata
  CHECK(found_in(footer(metadata("") + text({0x5c, 0}))) == Found{0});          // encrypted
  CHECK(found_in(footer(metadata(text({0xfc, 0x16, 2, 0})))) == Found{0});      // bytes of text, of a number
  CHECK(found_in(footer(metadata(text({0x05, 2, 4})))).empty());                // its type twice
  CHECK(found_in(footer(metadata("") + text({0x0c, 6, 0x15, 4, 0}))).empty());  // its metadata twice
}

void test_what_is_no_footer() {
  const std::string whole = footer(metadata(levels(1, 2)));
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(found_in(whole.substr(0, size)).empty());
  CHECK(found_in(std::string(1000, '\x1c')).empty());  // structs inside one another
  CHECK(found_in(std::string(1000, '\xff')).empty());
}

}  // namespace

int main() {
  test_chunks();
  test_what_is_no_footer();
}
