// WAV: what each chunk says, sample by sample; and lengths that say more than there is. Resampling as its formula.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/resample.h"
#include "kernels/wav.h"
#include "tests/check.h"

using penstock::SampleType;
using penstock::WavLayout;
using penstock::WavStatus;

namespace {

template <class Word>
std::string bytes_of(Word word) {
  return std::string(reinterpret_cast<const char*>(&word), sizeof word);
}

std::string chunk(const std::string& name, const std::string& content) {
  return name + bytes_of(static_cast<std::uint32_t>(content.size())) + content + (content.size() & 1 ? "\0" : "");
}

std::string format(int tag, int channels, int bits) {
  const int block = channels * ((bits + 7) / 8);
  return chunk("fmt ", bytes_of(static_cast<std::uint16_t>(tag)) + bytes_of(static_cast<std::uint16_t>(channels)) +
                           bytes_of(std::uint32_t{8000}) + bytes_of(static_cast<std::uint32_t>(8000 * block)) +
                           bytes_of(static_cast<std::uint16_t>(block)) + bytes_of(static_cast<std::uint16_t>(bits)));
}

std::string wav(const std::string& chunks) { return "RIFF" + bytes_of(std::uint32_t{0}) + "WAVE" + chunks; }

// The file in memory that holds not a byte more.
struct Parsed {
  explicit Parsed(const std::string& file) : memory(new unsigned char[file.size()]) {
    std::memcpy(memory.get(), file.data(), file.size());
    status = penstock::find_samples(memory.get(), file.size(), &layout);
  }
  std::vector<float> samples(bool mixed) const {
    std::vector<float> out(static_cast<std::size_t>(layout.frames * (mixed ? 1 : layout.channels)));
    penstock::read_samples(memory.get(), layout, 0, layout.frames, mixed, out.data());
    return out;
  }
  std::unique_ptr<unsigned char[]> memory;
  WavLayout layout{};
  WavStatus status;
};

void check_samples() {
  using Floats = std::vector<float>;
  const auto samples = [](int tag, int channels, int bits, const std::string& data, bool mixed) {
    const Parsed parsed(wav(format(tag, channels, bits) + chunk("data", data)));
    CHECK(parsed.status == WavStatus::kOk && parsed.layout.rate == 8000);
    return parsed.samples(mixed);
  };
  CHECK((samples(1, 1, 8, {"\x00\x80\xff", 3}, false) == Floats{-1, 0, 127.0f / 128}));
  CHECK((samples(1, 2, 16, {"\x00\x80\x00\x40", 4}, false) == Floats{-1, 0.5}));
  CHECK((samples(1, 2, 16, {"\x00\x80\x00\x40", 4}, true) == Floats{-0.25}));
  CHECK((samples(1, 1, 24, {"\x00\x00\x80\x00\x00\x40\xff\xff\xff", 9}, false) == Floats{-1, 0.5, -1.0f / 8388608}));
  CHECK((samples(1, 1, 32, {"\x00\x00\x00\x80\x00\x00\x00\x40", 8}, false) == Floats{-1, 0.5}));
  CHECK((samples(3, 1, 32, bytes_of(0.25f) + bytes_of(-2.0f), false) == Floats{0.25, -2}));
  const Floats wide = samples(3, 1, 64, bytes_of(0.25) + bytes_of(-1e300) + bytes_of(std::nan("")), false);
  CHECK(wide[0] == 0.25f && wide[1] == std::numeric_limits<float>::lowest() && std::isnan(wide[2]));
}

void check_chunks() {
  const std::string data = chunk("data", std::string(6, '\1'));
  CHECK(Parsed(wav(chunk("LIST", "abcd") + format(1, 1, 16) + data)).layout.frames == 3);
  CHECK(Parsed(wav(data + format(1, 1, 16))).status == WavStatus::kNoFormat);
  CHECK(Parsed(wav(format(1, 1, 16))).status == WavStatus::kNoData);
  CHECK(Parsed(wav(format(7, 1, 8) + data)).status == WavStatus::kElsewhere);
  CHECK(Parsed(wav(format(1, 0, 16) + data)).status == WavStatus::kBadFormat);
  CHECK(Parsed("").status == WavStatus::kElsewhere);
  const std::string whole = wav(format(1, 2, 16) + data);
  CHECK(Parsed(whole).layout.frames == 1);  // and half a frame
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Parsed parsed(whole.substr(0, size));
    CHECK(parsed.status != WavStatus::kOk);
    if (parsed.status == WavStatus::kTruncated) CHECK(parsed.samples(false).size() <= 2);
  }
  std::string unknown = whole;
  for (std::size_t i = 40; i < 44; ++i) unknown[i] = '\xff';
  CHECK(Parsed(unknown).status == WavStatus::kOk && Parsed(unknown).layout.frames == 1);
}

void check_resampling() {
  const std::vector<float> weights = {1, 2, 3, 10, 20, 30};  // two phases of three taps
  const std::vector<float> input = {1, 0, 0, 1};
  std::vector<float> out(7);
  penstock::resample({weights.data(), 2, 3, 3}, input.data(), 4, out.data(), 7);
  // Outputs 0, 1, 2, 3 have phases 0, 1, 0, 1 around inputs 0, 1, 3, 4; then there is silence.
  CHECK((out == std::vector<float>{2, 10, 2, 10, 0, 0, 0}));
  penstock::resample({weights.data(), 2, 3, 3}, input.data(), 0, out.data(), 3);
  CHECK(out[0] == 0 && out[1] == 0 && out[2] == 0);
}

}  // namespace

int main() {
  check_samples();
  check_chunks();
  check_resampling();
}
