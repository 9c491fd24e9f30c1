// A lock that is whole in the child of a fork, and what it guards as well.
#pragma once

#include <pthread.h>

#include <mutex>

namespace penstock {

// One lock for all objects of a class, taken by every fork too: no thread then holds it, which the child would wait
// for, or is about to change what it guards. So it is for what takes a few instructions, and no call of the system.
template <class Owner>
class ForkLock {
 public:
  ForkLock() : guard_((static_cast<void>(&watched_), mutex_)) {}

 private:
  inline static std::mutex mutex_;
  // From when the program, or the module, is loaded.
  inline static const int watched_ =
      pthread_atfork([] { mutex_.lock(); }, [] { mutex_.unlock(); }, [] { mutex_.unlock(); });
  const std::lock_guard<std::mutex> guard_;
};

}  // namespace penstock
