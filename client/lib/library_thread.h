// Marks the library's own threads. If a client's last handle is dropped on such a thread (a callback held it), the
// client must not be torn down there: the teardown waits for that very thread.
#pragma once

namespace hotplate::client {

class LibraryThread {
 public:
  LibraryThread() { here_ = true; }
  ~LibraryThread() { here_ = false; }
  LibraryThread(const LibraryThread&) = delete;
  LibraryThread& operator=(const LibraryThread&) = delete;

  static bool IsThis() { return here_; }

 private:
  static inline thread_local bool here_ = false;
};

}  // namespace hotplate::client
