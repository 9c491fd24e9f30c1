#include "kernels/streamed.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace penstock {

#if defined(__x86_64__)

namespace {

constexpr std::size_t kLine = 64, kWord = 16;

void copy_line(char* out, const char* in) noexcept {
  for (std::size_t at = 0; at < kLine; at += kWord)
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at)));
}

}  // namespace

void copy_streamed(char* out, const char* in, std::size_t size) noexcept {
  if (!size) return;  // perhaps null
  const std::size_t head = std::min(-reinterpret_cast<std::uintptr_t>(out) % kLine, size);
  std::memcpy(out, in, head);
  std::size_t at = head;
  for (; size - at >= 2 * kLine; at += 2 * kLine) {
    copy_line(out + at, in + at);
    copy_line(out + at + kLine, in + at + kLine);
  }
  std::memcpy(out + at, in + at, size - at);
  _mm_sfence();  // such stores may otherwise become visible after later ones
}

#else

void copy_streamed(char* out, const char* in, std::size_t size) noexcept {
  if (size) std::memcpy(out, in, size);
}

#endif

}  // namespace penstock
