// What clients send once and then name in each call: their functions, and the environments that these run in. An id is
// the content's, so that sending the same again changes nothing.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/workers/program.h"

namespace hotplate::server {

struct FunctionCode {
  std::string id;
  std::string name;  // for people
  std::string code;  // for hotplate_calls.py: the daemon never looks into it
};

struct FunctionEnvironment {
  std::string id;
  Program python;  // without arguments
};

// Thread-safe. Those not used for longest go when there are too many.
class FunctionTable {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 20;
  static constexpr std::size_t kMostEnvironments = 64;

  void Add(FunctionCode function);
  void Add(FunctionEnvironment environment);
  // NOT_FOUND, naming the field: it never came to this start of the daemon, or had to go.
  absl::StatusOr<std::shared_ptr<const FunctionCode>> Function(const std::string& id);
  absl::StatusOr<std::shared_ptr<const FunctionEnvironment>> Environment(const std::string& id);

 private:
  template <typename T>
  struct Shelf {
    std::list<std::shared_ptr<const T>> by_use;  // newest first
    std::map<std::string, typename std::list<std::shared_ptr<const T>>::iterator> by_id;

    void Add(T one);
    std::shared_ptr<const T> Find(const std::string& id);
    std::shared_ptr<const T> DropOldest();
  };

  Mutex mutex_;
  Shelf<FunctionCode> functions_ ABSL_GUARDED_BY(mutex_);
  Shelf<FunctionEnvironment> environments_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate::server
