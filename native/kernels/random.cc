#include "kernels/random.h"

namespace penstock {

namespace {

struct Product {
  std::uint64_t high, low;
};

Product multiply(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

}  // namespace

std::uint64_t first_draw(std::uint64_t key, std::uint64_t row) {
  std::uint64_t c0 = 1, c1 = 0, c2 = 0, c3 = 0, k0 = key, k1 = row;
  for (int round = 0; round < 10; ++round) {
    const Product a = multiply(0xD2E7470EE14C6C93u, c0);
    const Product b = multiply(0xCA5A826395121157u, c2);
    c0 = b.high ^ c1 ^ k0;
    c1 = b.low;
    c2 = a.high ^ c3 ^ k1;
    c3 = a.low;
    k0 += 0x9E3779B97F4A7C15u;
    k1 += 0xBB67AE8584CAA73Bu;
  }
  return c0;
}

void first_draws(std::uint64_t key, const std::int64_t* rows, std::size_t count, std::uint64_t* draws) {
  for (std::size_t i = 0; i < count; ++i) draws[i] = first_draw(key, static_cast<std::uint64_t>(rows[i]));
}

}  // namespace penstock
