#include "server/service/call_watch.h"

#include <grpcpp/support/server_interceptor.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "server/service/acts.h"

namespace hotplate::server {
namespace {

// A connection beyond its bound is ended again with each so many calls more: those that gRPC has read already still
// come.
constexpr int kCallsUntilNextDrop = 256;
constexpr std::chrono::minutes kSilenceOnDrops(1);

class WatchedContexts final : public grpc::ContextAllocator {
 public:
  explicit WatchedContexts(std::shared_ptr<CallWatch> watch) : watch_(std::move(watch)) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override { return new grpc::CallbackServerContext; }
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    return new grpc::GenericCallbackServerContext;
  }
  // gRPC (1.51) calls this one for all.
  void Release(grpc::CallbackServerContext* context) override {
    const std::unique_ptr<grpc::CallbackServerContext> gone(context);
    watch_->End(context);
  }
  void Release(grpc::GenericCallbackServerContext* context) override {
    Release(static_cast<grpc::CallbackServerContext*>(context));
  }

 private:
  const std::shared_ptr<CallWatch> watch_;
};

// Hears of each call of any method before its handler does; intercepts nothing.
class BeginningsOfCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit BeginningsOfCalls(std::shared_ptr<CallWatch> watch) : watch_(std::move(watch)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    watch_->Begin(info->server_context(), info->server_context()->peer());
    return nullptr;
  }

 private:
  const std::shared_ptr<CallWatch> watch_;
};

}  // namespace

void CallWatch::Install(grpc::ServerBuilder& builder, Options options) {
  const auto watch = std::make_shared<CallWatch>(std::move(options));
  builder.SetContextAllocator(std::make_unique<WatchedContexts>(watch));
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<BeginningsOfCalls>(watch));
  builder.experimental().SetInterceptorCreators(std::move(factories));
}

void CallWatch::Begin(const grpc::ServerContextBase* call, const std::string& peer) {
  std::string worst;
  int calls = 0;
  {
    MutexLock lock(mutex_);
    Connections::value_type& its = *connections_.try_emplace(peer).first;
    const int of_it = ++its.second;
    calls_[call] = &its;
    const auto beyond = [](int count, int most) { return count > most && (count - most) % kCallsUntilNextDrop == 1; };
    if (beyond(of_it, options_.most_of_one)) {
      worst = peer;
      calls = of_it;
    } else if (beyond(static_cast<int>(calls_.size()), options_.most)) {
      const auto fewer = [](const Connections::value_type& one, const Connections::value_type& other) {
        return one.second < other.second;
      };
      std::tie(worst, calls) = *std::max_element(connections_.begin(), connections_.end(), fewer);
    }
  }
  if (calls > 0) Drop(worst, calls);
}

void CallWatch::End(const grpc::ServerContextBase* call) {
  MutexLock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;  // it failed before it began
  Connections::value_type& its = *found->second;
  if (--its.second == 0) connections_.erase(its.first);
  calls_.erase(found);
}

void CallWatch::Drop(const std::string& peer, int calls) {
  if (!options_.drop(peer) || !options_.warn) return;
  {
    MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < silent_until_) return;
    silent_until_ = now + kSilenceOnDrops;
  }
  options_.warn("ended a connection from " + AddressIn(peer) + " with " + std::to_string(calls) +
                " calls under way; one may have " + std::to_string(options_.most_of_one) + ", and all together " +
                std::to_string(options_.most));
}

}  // namespace hotplate::server
