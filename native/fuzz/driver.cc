// A fuzzer for compilers without one: replays files and those of folders, then mutates them until the time is up.
//
//     fuzz_image --seconds 60 native/hostile
//
// The input at work is kept in the file named last-<target>.bin, so that whatever kills the program can be replayed.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kLongest = 1 << 16;
const Bytes* at_work = nullptr;
std::string last_path;

void keep_last_input() {
  if (at_work == nullptr) return;
  std::ofstream(last_path, std::ios::binary)
      .write(reinterpret_cast<const char*>(at_work->data()), static_cast<std::streamsize>(at_work->size()));
  std::fprintf(stderr, "the input is in %s\n", last_path.c_str());
}

void run(const Bytes& bytes) {
  at_work = &bytes;
  const Bytes exact(bytes);  // memory that holds not a byte more
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  at_work = nullptr;
}

std::vector<Bytes> read_corpus(const std::vector<std::string>& paths) {
  std::vector<Bytes> corpus;
  const auto add = [&corpus](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  };
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      add(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  if (corpus.empty()) corpus.push_back({0});
  return corpus;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  Bytes mutate(const std::vector<Bytes>& corpus) {
    Bytes bytes = corpus[below(corpus.size())];
    for (size_t steps = 1 + below(1 + below(12)); steps > 0; --steps) step(bytes, corpus);
    if (bytes.size() > kLongest) bytes.resize(kLongest);
    return bytes;
  }

 private:
  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }

  void step(Bytes& bytes, const std::vector<Bytes>& corpus) {
    static constexpr uint8_t kTelling[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF, 0xC0,
                                           0xC2, 0xC4, 0xD0, 0xDA, 0xD9, 0xE1};
    if (bytes.empty()) bytes.push_back(0);
    const size_t at = below(below(2) ? bytes.size() : std::min<size_t>(bytes.size(), 700));  // headers come first
    const size_t length = std::min(1 + below(1 + below(64)), bytes.size() - at);
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = from + static_cast<std::ptrdiff_t>(length);
    switch (below(9)) {
      case 0:
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(random_());
        break;
      case 2:
        bytes[at] = kTelling[below(sizeof kTelling)];
        break;
      case 3:
        bytes[at] = static_cast<uint8_t>(bytes[at] + below(9) - 4);
        break;
      case 4:
        bytes.erase(from, to);
        break;
      case 5: {
        const Bytes piece(from, to);
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size())), piece.begin(), piece.end());
        break;
      }
      case 6:
        bytes.resize(at);
        break;
      case 7: {
        const Bytes& other = corpus[below(corpus.size())];
        if (other.empty()) break;
        const size_t start = below(other.size()), count = std::min(1 + below(512), other.size() - start);
        for (size_t i = 0; i < count && at + i < bytes.size(); ++i) bytes[at + i] = other[start + i];
        break;
      }
      default:
        for (auto i = from; i != to; ++i) *i = static_cast<uint8_t>(random_());
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

int main(int count, char** arguments) {
  double seconds = 10;
  std::vector<std::string> paths;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--seconds") == 0 && i + 1 < count) {
      seconds = std::atof(arguments[++i]);
    } else {
      paths.emplace_back(arguments[i]);
    }
  }
  last_path = "last-" + std::filesystem::path(arguments[0]).filename().string() + ".bin";
  std::signal(SIGABRT, [](int) {
    keep_last_input();
    std::_Exit(1);
  });
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(keep_last_input);
#endif
  const std::vector<Bytes> corpus = read_corpus(paths);
  for (const Bytes& bytes : corpus) run(bytes);
  using Clock = std::chrono::steady_clock;
  const uint64_t seed = std::random_device{}();
  Mutator mutator(seed);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  uint64_t runs = 0;
  double slowest = 0;
  for (auto now = Clock::now(); now < end;) {
    const Bytes bytes = mutator.mutate(corpus);
    run(bytes);
    const auto then = Clock::now();
    const double took = std::chrono::duration<double>(then - now).count();
    if (took > slowest) slowest = took;
    now = then;
    ++runs;
  }
  std::printf("%llu inputs from %zu files, seed %llu, slowest %.3f s: no finding\n",
              static_cast<unsigned long long>(runs), corpus.size(), static_cast<unsigned long long>(seed), slowest);
  return 0;
}
