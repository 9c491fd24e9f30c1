#include "kernels/example_files.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "bindings/buffers.h"
#include "bindings/module.h"
#include "bindings/reader.h"
#include "bindings/texts.h"
#include "kernels/fork_lock.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

constexpr std::size_t kMostKept = std::size_t{16} << 20;  // bytes of records whose memory is kept

// The place of a slot's values and splits: the block, and the first word in it. Texts are in no block.
struct Place {
  std::int64_t block, at, room, splits_block, splits_at;
};

// The memory of a call besides the blocks.
struct Memory {
  FilesMemory files;
  std::vector<std::vector<Bytes>> texts;          // of each slot
  std::vector<std::vector<std::int64_t>> splits;  // of each slot
};

// Parses records of a reader's files, a batch at a time; any number of threads may use it.
class ExampleFiles {
 public:
  // For each slot its default, or None, and whether texts become `str`.
  ExampleFiles(nb::handle spec, nb::handle reader, const nb::list& defaults, const nb::list& decoded)
      : spec_owner_(nb::borrow(spec)),
        reader_owner_(nb::borrow(reader)),
        spec_(nb::cast<const ExampleSpec&>(spec)),
        reader_(nb::cast<Reader&>(reader)),
        defaults_(defaults) {
    const std::vector<FeatureSlot>& slots = spec_.slots();
    if (spec_.has_lists()) throw nb::value_error("there must be no lists");
    if (nb::len(defaults) != slots.size() || nb::len(decoded) != slots.size())
      throw nb::value_error("there must be a default for each slot, and whether it is decoded");
    std::int64_t most = 0;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      decoded_.push_back(nb::cast<bool>(decoded[slot]));
      numbers_.push_back(nullptr);
      if (slots[slot].kind == FeatureKind::kBytes) {
        most = std::max(most, slots[slot].size);
      } else if (slots[slot].size >= 0 && !slots[slot].required) {
        const Buffer& held = held_.emplace_back(defaults[slot]);
        if (held.bytes() != static_cast<std::size_t>(slots[slot].size) * width_of(slots[slot].kind))
          throw nb::value_error("a default has the size of the slot");
        numbers_.back() = held.data();
      }
    }
    no_texts_.resize(static_cast<std::size_t>(most));
  }
  ExampleFiles(const ExampleFiles&) = delete;
  ExampleFiles& operator=(const ExampleFiles&) = delete;

  // Returns the number of values of each slot, and the texts of each; None for any failure. Values and splits are
  // written to the blocks, at `places`: 5 words for each slot, as in `Place`.
  nb::object parse(nb::handle rows_array, const nb::list& blocks, nb::handle places_array) {
    const Buffer rows(rows_array), places(places_array);
    const std::int64_t* const wanted = reader_.checked(rows);
    const auto* const words = places.words<const std::int64_t>("places");
    if (places.rows() != 5 * spec_.slots().size()) throw nb::value_error("there must be 5 words for each slot");
    std::deque<Buffer> held;
    for (nb::handle block : blocks) held.emplace_back(block, true);
    const auto* const of_slots = reinterpret_cast<const Place*>(words);
    std::unique_ptr<Memory> memory = borrowed();
    bool done;
    {
      const std::vector<FeatureColumn> columns = columns_of(of_slots, held, rows.rows(), *memory);
      nb::gil_scoped_release release;  // a file may be far away
      done = parse_files(reader_.files(), wanted, rows.rows(), spec_, columns.data(), memory->files) &&
             write_splits(of_slots, held, rows.rows(), *memory);
      memory->files.located.files.clear();
    }
    nb::object made = done ? made_of(rows.rows(), *memory) : nb::none();
    give_back(std::move(memory));
    return made;
  }

 private:
  static std::size_t width_of(FeatureKind kind) {
    return kind == FeatureKind::kFloat ? sizeof(float) : sizeof(std::int64_t);
  }

  // Returns a part of a block; raises if the block does not have it.
  static char* part_of(std::deque<Buffer>& held, std::int64_t block, std::int64_t at, std::int64_t count,
                       std::size_t width) {
    if (block < 0 || block >= static_cast<std::int64_t>(held.size())) throw nb::index_error("no such block");
    const Buffer& memory = held[static_cast<std::size_t>(block)];
    const auto size = static_cast<std::int64_t>(memory.bytes() / width);
    if (memory.width() != width || at < 0 || count < 0 || at > size || count > size - at)
      throw nb::value_error("a block has no such part");
    return memory.data() + static_cast<std::size_t>(at) * width;
  }

  std::vector<FeatureColumn> columns_of(const Place* places, std::deque<Buffer>& held, std::size_t count,
                                        Memory& memory) const {
    const std::vector<FeatureSlot>& slots = spec_.slots();
    std::vector<FeatureColumn> columns(slots.size());
    memory.texts.resize(slots.size());
    memory.splits.resize(slots.size());
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      const FeatureSlot& wanted = slots[slot];
      const Place& place = places[slot];
      FeatureColumn& column = columns[slot];
      const bool fixed = wanted.size >= 0;
      column.room = fixed ? static_cast<std::int64_t>(count) * wanted.size : place.room;
      if (!fixed) {
        memory.splits[slot].resize(count + 1);
        column.splits = memory.splits[slot].data();
        column.splits[0] = 0;
        const std::size_t width = splits_width(held, place);
        part_of(held, place.splits_block, place.splits_at, static_cast<std::int64_t>(count) + 1, width);
      }
      if (wanted.kind == FeatureKind::kBytes) {
        memory.texts[slot].resize(static_cast<std::size_t>(std::max<std::int64_t>(column.room, 0)));
        column.values = memory.texts[slot].data();
        column.defaults = no_texts_.data();
      } else {
        column.values = part_of(held, place.block, place.at, column.room, width_of(wanted.kind));
        column.defaults = numbers_[slot];
      }
    }
    return columns;
  }

  static std::size_t splits_width(const std::deque<Buffer>& held, const Place& place) {
    const bool narrow = place.splits_block >= 0 && place.splits_block < static_cast<std::int64_t>(held.size()) &&
                        held[static_cast<std::size_t>(place.splits_block)].width() == sizeof(std::int32_t);
    return narrow ? sizeof(std::int32_t) : sizeof(std::int64_t);
  }

  // Writes the splits in the width of their blocks; returns false if they do not fit.
  bool write_splits(const Place* places, std::deque<Buffer>& held, std::size_t count, const Memory& memory) const {
    for (std::size_t slot = 0; slot < spec_.slots().size(); ++slot) {
      if (spec_.slots()[slot].size >= 0) continue;
      const Place& place = places[slot];
      const std::size_t width = splits_width(held, place);
      const std::vector<std::int64_t>& splits = memory.splits[slot];
      char* const into =
          part_of(held, place.splits_block, place.splits_at, static_cast<std::int64_t>(count) + 1, width);
      if (width == sizeof(std::int64_t)) {
        std::copy_n(splits.data(), count + 1, reinterpret_cast<std::int64_t*>(into));
        continue;
      }
      if (splits[count] > std::numeric_limits<std::int32_t>::max()) return false;
      std::transform(splits.begin(), splits.begin() + static_cast<std::ptrdiff_t>(count) + 1,
                     reinterpret_cast<std::int32_t*>(into),
                     [](std::int64_t split) { return static_cast<std::int32_t>(split); });
    }
    return true;
  }

  nb::object made_of(std::size_t count, const Memory& memory) const {
    nb::list used, texts;
    for (std::size_t slot = 0; slot < spec_.slots().size(); ++slot) {
      const FeatureSlot& wanted = spec_.slots()[slot];
      const std::int64_t values =
          wanted.size >= 0 ? static_cast<std::int64_t>(count) * wanted.size : memory.splits[slot][count];
      used.append(values);
      if (wanted.kind != FeatureKind::kBytes) continue;
      const nb::object of_record = nb::borrow(defaults_[slot]);
      auto [found, bad] = texts_of(memory.texts[slot].data(), static_cast<std::size_t>(values), decoded_[slot],
                                   of_record.is_none() ? nb::list() : nb::cast<nb::list>(of_record));
      if (bad >= 0) return nb::none();
      texts.append(std::move(found));
    }
    return nb::make_tuple(std::move(used), std::move(texts));
  }

  std::unique_ptr<Memory> borrowed() {
    const ForkLock<ExampleFiles> lock;
    if (kept_.empty()) return std::make_unique<Memory>();
    std::unique_ptr<Memory> memory = std::move(kept_.back());
    kept_.pop_back();
    return memory;
  }

  void give_back(std::unique_ptr<Memory> memory) {
    if (memory->files.room > kMostKept) return;
    const ForkLock<ExampleFiles> lock;
    kept_.push_back(std::move(memory));
  }

  nb::object spec_owner_, reader_owner_;
  const ExampleSpec& spec_;
  Reader& reader_;
  nb::list defaults_;
  std::vector<bool> decoded_;
  std::deque<Buffer> held_;
  std::vector<const void*> numbers_;  // the default of each slot
  std::vector<Bytes> no_texts_;       // instead of default texts, which Python handles
  std::vector<std::unique_ptr<Memory>> kept_;
};

}  // namespace

void bind_example_files(nb::module_& module) {
  nb::class_<ExampleFiles>(module, "ExampleFiles")
      .def(nb::init<nb::handle, nb::handle, const nb::list&, const nb::list&>())
      .def("parse", &ExampleFiles::parse);
}

}  // namespace penstock::bindings
