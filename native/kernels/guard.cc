#include "kernels/guard.h"

#include <csetjmp>
#include <csignal>
#include <mutex>

#include "kernels/lasting.h"

namespace penstock {

namespace {

thread_local sigjmp_buf* current = nullptr;  // the jump target of the body running in this thread
thread_local bool is_passing_on = false;     // to the handler before this one, which may call this one again
struct sigaction previous;

void on_bus_error(int number, siginfo_t* info, void* where) {
  if (sigjmp_buf* const jump = current) {
    current = nullptr;
    siglongjmp(*jump, 1);
  }
  if (info && info->si_code > 0 && mend_mapping(info->si_addr)) return;  // the instruction runs again
  if (is_passing_on) {
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  is_passing_on = true;
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(number, info, where);
  } else if (previous.sa_handler == SIG_DFL) {
    signal(number, SIG_DFL);  // the instruction runs again, and ends the process as it would have
  } else if (previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
  }
  is_passing_on = false;
}

bool is_installed() noexcept {
  struct sigaction now{};
  return sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error;
}

void install() noexcept {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;  // left by a jump, the signal stays unblocked
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

}  // namespace

void watch_bus_errors() noexcept {
  if (is_installed()) return;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!is_installed()) install();
}

bool guarded(void (*body)(void*), void* context) noexcept {
  watch_bus_errors();
  sigjmp_buf* const outer = current;
  sigjmp_buf jump;
  if (sigsetjmp(jump, 0)) {
    current = outer;
    return false;
  }
  current = &jump;
  body(context);
  current = outer;
  return true;
}

}  // namespace penstock
