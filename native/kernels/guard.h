// Memory mapped from a file loses its end when the file is truncated: touching that part raises SIGBUS.
#pragma once

namespace penstock {

// Runs `body(context)`; returns false if it touched mapped memory whose file was truncated (or became unreadable). A
// jump then leaves the body, so it must own nothing: no allocations, locks or destructors. Results for the caller, such
// as the progress, must be written through volatile.
[[nodiscard]] bool guarded(void (*body)(void*), void* context) noexcept;

// Installs the handler of SIGBUS; memory of a `LastingMap` may then be touched outside `guarded`. Called again, it
// takes the place of a handler that others have installed meanwhile, such as those of workers of PyTorch's DataLoader.
void watch_bus_errors() noexcept;

}  // namespace penstock
