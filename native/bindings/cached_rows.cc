#include "kernels/cached_rows.h"

#include <cstdint>
#include <deque>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// The logs that some of the entries are of, held as long as this lives.
class HeldLogs {
 public:
  HeldLogs(const nb::list& records, const nb::list& data, const std::uint64_t* entries, std::size_t count)
      : logs(nb::len(records)) {
    if (nb::len(data) != logs.size()) throw nb::value_error("there must be data for each log");
    std::vector<bool> is_held(logs.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = log_of(entries[i]);
      if (number >= logs.size() || is_held[number]) continue;
      is_held[number] = true;
      MappedLog& log = logs[number];
      if (const nb::handle given = records[number]; !given.is_none()) {
        const Buffer& held = held_.emplace_back(given);
        log.records = held.data();
        log.count = held.bytes() / sizeof(LogRecord);
      }
      if (const nb::handle given = data[number]; !given.is_none()) {
        const Buffer& held = held_.emplace_back(given);
        log.data = held.data();
        log.size = held.bytes();
      }
    }
  }

  std::vector<MappedLog> logs;

 private:
  std::deque<Buffer> held_;  // they stay where they are
};

// The Python side has checked the dtypes.
std::size_t copy_rows(nb::handle entries, nb::handle rows, const nb::list& records, const nb::list& data,
                      std::int64_t length, const nb::list& starts, const nb::list& outs, nb::handle spans,
                      nb::handle ok) {
  const Buffer table(entries), index(rows), sound(ok, true);
  const auto* words = table.words<const std::uint64_t>("entries");
  const auto* wanted = index.words<const std::int64_t>("rows");
  const std::size_t count = index.rows();
  if (table.rows() != count || sound.bytes() != count) throw nb::value_error("there must be an entry for each row");
  const HeldLogs held(records, data, words, count);
  std::deque<Buffer> into;
  std::vector<RowPart> parts;
  if (nb::len(starts) != nb::len(outs)) throw nb::value_error("there must be a start for each of outs");
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < nb::len(outs); ++i) {
    const Buffer& out = into.emplace_back(outs[i], true);
    if (!out.ndim() || out.rows() != count) throw nb::value_error("out must have one row for each of rows");
    parts.push_back({nb::cast<std::size_t>(starts[i]), count ? out.bytes() / count : 0, out.data()});
    bytes += out.bytes();
  }
  std::int64_t* places = nullptr;
  if (!spans.is_none()) {
    const Buffer& found = into.emplace_back(spans, true);
    if (found.bytes() != 2 * sizeof(std::int64_t) * count)
      throw nb::value_error("spans must have two numbers for each row");
    places = reinterpret_cast<std::int64_t*>(found.data());
  }
  std::size_t bad = 0;
  run_freely(bytes > kLongCallBytes || places, [&] {
    bad = copy_cached_rows(held.logs.data(), held.logs.size(), words, wanted, count, length, parts.data(), parts.size(),
                           places, reinterpret_cast<std::uint8_t*>(sound.data()));
  });
  return bad;
}

nb::tuple look_up(nb::handle table, nb::handle rows, nb::handle entries) {
  const Buffer from(table), index(rows), to(entries, true);
  const auto* words = from.words<const std::uint64_t>("table");
  const auto* wanted = index.words<const std::int64_t>("rows");
  auto* found = to.words<std::uint64_t>("entries");
  if (to.rows() != index.rows()) throw nb::value_error("there must be an entry for each row");
  const LookedUp all = look_up_rows(words, from.rows(), wanted, index.rows(), found);
  return nb::make_tuple(all.missing, all.unverified, all.form);
}

void checksums(nb::handle rows, std::size_t length, nb::handle out) {
  const Buffer from(rows), to(out, true);
  const std::size_t count = from.rows(), width = count ? from.bytes() / count : length;
  if (length > width || to.bytes() != count * sizeof(std::uint32_t))
    throw nb::value_error("out must have one number for each row, and a row as many bytes as asked for");
  run_freely(count * length > kLongCallBytes,
             [&] { crc32c_rows(from.data(), width, count, length, reinterpret_cast<std::uint32_t*>(to.data())); });
}

}  // namespace

void bind_cached_rows(nb::module_& module) {
  module.def("copy_cached_rows", copy_rows, nb::arg("entries"), nb::arg("rows"), nb::arg("records"), nb::arg("data"),
             nb::arg("length"), nb::arg("starts"), nb::arg("outs"), nb::arg("spans").none(), nb::arg("ok"));
  module.def("look_up_rows", look_up);
  module.def("crc32c_rows", checksums);
}

}  // namespace penstock::bindings
