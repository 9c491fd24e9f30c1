// Memory mapped from a file may lose its end when the file does: the system then says SIGBUS to who touches it.
#pragma once

namespace penstock {

// Runs `body(context)`; false if it touched mapped memory whose file has shrunk (or cannot be read any more). It is
// then left by a jump, so it must own nothing: no allocations, locks or destructors. What it leaves behind for its
// caller, such as how far it got, it writes through volatile.
[[nodiscard]] bool guarded(void (*body)(void*), void* context) noexcept;

// Has the handler of SIGBUS in place; what is not touched under `guarded` may then be in a `LastingMap`.
void watch_bus_errors() noexcept;

}  // namespace penstock
