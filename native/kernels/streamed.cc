#include "kernels/streamed.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {

#if defined(__x86_64__)

namespace {

constexpr std::size_t kLine = 64;

using Copy = void (*)(char* out, const char* in, std::size_t size) noexcept;

// The wider the stores, the faster: four of 16 bytes fill a line a sixth more slowly than one of 64.
void copy_by_16(char* out, const char* in, std::size_t size) noexcept {
  for (std::size_t at = 0; at < size; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at)));
}

__attribute__((target("avx"))) void copy_by_32(char* out, const char* in, std::size_t size) noexcept {
  for (std::size_t at = 0; at < size; at += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + at)));
}

__attribute__((target("avx512f"))) void copy_by_64(char* out, const char* in, std::size_t size) noexcept {
  for (std::size_t at = 0; at < size; at += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + at), _mm512_loadu_si512(in + at));
}

Copy widest() noexcept {
  if (__builtin_cpu_supports("avx512f")) return copy_by_64;
  return __builtin_cpu_supports("avx") ? copy_by_32 : copy_by_16;
}

const Copy copy_lines = widest();

}  // namespace

void copy_streamed(char* out, const char* in, std::size_t size) noexcept {
  if (!size) return;  // perhaps null
  const std::size_t head = std::min(-reinterpret_cast<std::uintptr_t>(out) % kLine, size);
  const std::size_t lines = (size - head) / kLine * kLine, end = head + lines;
  std::memcpy(out, in, head);
  copy_lines(out + head, in + head, lines);
  std::memcpy(out + end, in + end, size - end);
  _mm_sfence();  // such stores may otherwise become visible after later ones
}

#else

void copy_streamed(char* out, const char* in, std::size_t size) noexcept {
  if (size) std::memcpy(out, in, size);
}

#endif

}  // namespace penstock
