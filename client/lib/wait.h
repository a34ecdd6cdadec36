// Waits without a bound. std::condition_variable::wait asks for the libstdc++ of GCC 12 (GLIBCXX_3.4.30), wait_until
// does not: the Python module is to load with that of GCC 11 too (RHEL 9).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hotplate::client {

// As condition.wait(lock, until...).
template <typename... Predicate>
void Wait(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Predicate... until) {
  condition.wait_until(lock, std::chrono::steady_clock::time_point::max(), until...);
}

}  // namespace hotplate::client
