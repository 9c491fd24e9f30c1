// A lock that stays valid in the child of a fork, like the data it guards.
#pragma once

#include <pthread.h>

#include <mutex>

namespace penstock {

// One lock for all objects of a class, which every fork also takes, so that no other thread holds it or changes the
// guarded data then. Use it only for a few instructions without system calls.
template <class Owner>
class ForkLock {
 public:
  ForkLock() : guard_((static_cast<void>(&watched_), mutex_)) {}

 private:
  inline static std::mutex mutex_;
  // Registered when the program, or the module, is loaded.
  inline static const int watched_ =
      pthread_atfork([] { mutex_.lock(); }, [] { mutex_.unlock(); }, [] { mutex_.unlock(); });
  const std::lock_guard<std::mutex> guard_;
};

}  // namespace penstock
