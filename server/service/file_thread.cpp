#include "server/service/file_thread.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace hotplate::server {

void FileThread::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stop_ = true;
    threads.swap(threads_);
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads) thread.join();
}

absl::Status FileThread::Post(std::uint64_t bytes, std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    if (stop_) return absl::FailedPreconditionError("the daemon ends, and looks at no more files");
    if (tasks_.size() >= kMostTasks) {
      return absl::ResourceExhaustedError(
          absl::StrCat(tasks_.size(),
                       " jobs wait for files to be looked at, the daemon's limit for these; "
                       "the file system may be slow or hang: try again later"));
    }
    if (bytes_ > 0 && bytes_ + bytes > kMostBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("jobs that wait for files to be looked at hold ", bytes_, " bytes, this one would add ", bytes,
                       ", and the daemon's limit for these is ", kMostBytes,
                       "; the file system may be slow or hang: try again later, or give the large inputs by path too"));
    }
    bytes_ += bytes;
    tasks_.push_back({bytes, std::move(task)});
    if (threads_.size() < most_threads_ && running_ + tasks_.size() > threads_.size()) {
      threads_.emplace_back([this] { Loop(); });
      pthread_setname_np(threads_.back().native_handle(), "files");
    }
  }
  wake_.NotifyOne();
  return absl::OkStatus();
}

void FileThread::Loop() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stop_ && tasks_.empty()) wake_.Wait(mutex_);
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ++running_;
    lock.Unlock();
    task.run();
    task.run = nullptr;  // what it holds goes without the lock
    lock.Lock();
    --running_;
    bytes_ -= task.bytes;
  }
}

}  // namespace hotplate::server
