#include "server/service/call_watch.h"

#include <grpcpp/support/server_interceptor.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "server/net/peer.h"

namespace hotplate::server {
namespace {

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
    calls_[call] = &its;
    ++its.second.calls;
    // After its end a connection still has those that gRPC has read already.
    if (its.second.dropped) return;
    ++living_;
    Connections::value_type* ended = its.second.calls > options_.most_of_one ? &its : nullptr;
    if (ended == nullptr && living_ > options_.most) {
      const auto rank = [](const Connections::value_type& one) { return one.second.dropped ? 0 : one.second.calls; };
      const auto fewer = [&](const auto& one, const auto& other) { return rank(one) < rank(other); };
      ended = &*std::max_element(connections_.begin(), connections_.end(), fewer);
    }
    if (ended == nullptr) return;
    ended->second.dropped = true;
    living_ -= ended->second.calls;
    worst = ended->first;
    calls = ended->second.calls;
  }
  Drop(worst, calls);
}

void CallWatch::End(const grpc::ServerContextBase* call) {
  MutexLock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  Connections::value_type& its = *found->second;
  calls_.erase(found);
  if (!its.second.dropped) --living_;
  if (--its.second.calls == 0) connections_.erase(connections_.find(its.first));
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
