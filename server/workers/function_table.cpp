#include "server/workers/function_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

absl::Status Unknown(const std::string& field, const std::string& what, const std::string& id) {
  return Refused(absl::StatusCode::kNotFound,
                 {{field, absl::StrCat("this daemon has no ", what, " ", Quoted(id.substr(0, 64)),
                                       ": it was restarted, or had others to keep; send it again")}});
}

}  // namespace

template <typename T>
void FunctionTable::Shelf<T>::Add(T one) {
  if (Find(one.id) != nullptr) return;
  const std::string id = one.id;
  by_use.push_front(std::make_shared<const T>(std::move(one)));
  by_id[id] = by_use.begin();
}

template <typename T>
std::shared_ptr<const T> FunctionTable::Shelf<T>::Find(const std::string& id) {
  const auto found = by_id.find(id);
  if (found == by_id.end()) return nullptr;
  by_use.splice(by_use.begin(), by_use, found->second);
  return *found->second;
}

template <typename T>
std::shared_ptr<const T> FunctionTable::Shelf<T>::DropOldest() {
  std::shared_ptr<const T> oldest = std::move(by_use.back());
  by_use.pop_back();
  by_id.erase(oldest->id);
  return oldest;
}

void FunctionTable::Add(FunctionCode function) {
  MutexLock lock(mutex_);
  const std::size_t bytes = function.code.size(), before = functions_.by_use.size();
  functions_.Add(std::move(function));
  if (functions_.by_use.size() > before) bytes_ += bytes;
  while (bytes_ > kMostBytes && functions_.by_use.size() > 1) bytes_ -= functions_.DropOldest()->code.size();
}

void FunctionTable::Add(FunctionEnvironment environment) {
  MutexLock lock(mutex_);
  environments_.Add(std::move(environment));
  while (environments_.by_use.size() > kMostEnvironments) environments_.DropOldest();
}

absl::StatusOr<std::shared_ptr<const FunctionCode>> FunctionTable::Function(const std::string& id) {
  MutexLock lock(mutex_);
  std::shared_ptr<const FunctionCode> found = functions_.Find(id);
  if (found == nullptr) return Unknown("function", "function", id);
  return found;
}

absl::StatusOr<std::shared_ptr<const FunctionEnvironment>> FunctionTable::Environment(const std::string& id) {
  MutexLock lock(mutex_);
  std::shared_ptr<const FunctionEnvironment> found = environments_.Find(id);
  if (found == nullptr) return Unknown("environment", "environment", id);
  return found;
}

}  // namespace hotplate::server
