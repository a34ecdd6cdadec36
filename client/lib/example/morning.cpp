// A morning with Hotplate from a program: connect, run a kernel on your own memory, keep an array on the daemon, watch
// a detached job, put jobs one behind the other, and read an error. Build it against an installed Hotplate with
//
//   find_package(Hotplate REQUIRED)
//   add_executable(morning morning.cpp)
//   target_link_libraries(morning PRIVATE Hotplate::client)
//
// and start a daemon first: hotplate up --local.
#include <cmath>
#include <cstdio>
#include <future>
#include <numeric>
#include <vector>

#include "hotplate/client.h"

namespace {

using hotplate::client::ArrayRef;
using hotplate::client::Client;
using hotplate::client::JobOptions;
using hotplate::client::JobResult;
using hotplate::client::View;

int Complain(const char* what, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  for (const auto& violation : hotplate::client::Violations(status)) {
    std::fprintf(stderr, "  %s: %s\n", violation.field().c_str(), violation.description().c_str());
  }
  return 1;
}

// 1. One job. The inputs are views of memory that stays yours; the outputs come back as spans.
int RunOne(Client& client) {
  std::vector<float> x(1'000'000);
  std::iota(x.begin(), x.end(), -500'000.0f);
  const auto result = client.Run("selu", {{"x", View(x, {1'000'000})}});
  if (!result.ok()) return Complain("selu", result.status());

  const std::span<const float> y = result->Output<float>("y");
  std::printf("selu: job %s, y[0] = %.4f, kernel %.3f ms on %s, upload %.3f ms\n", result->job_id.c_str(), y[0],
              result->receipt.kernel_ns() * 1e-6, result->receipt.device().c_str(),
              result->timings.upload.count() * 1e-6);
  return y.size() == x.size() && std::abs(y[999'999] - 1.05f * x[999'999]) < 1.0f ? 0 : 1;
}

// 2. Many jobs in flight, on the one stream that the client keeps open.
int RunMany(Client& client) {
  std::vector<std::vector<float>> inputs(100, std::vector<float>(4));
  std::vector<std::future<absl::StatusOr<JobResult>>> sums;
  for (std::vector<float>& input : inputs) {
    std::iota(input.begin(), input.end(), static_cast<float>(sums.size()));
    sums.push_back(client.RunAsync("vector_add", {{"a", View(input, {4})}, {"b", View(input, {4})}}));
  }
  float last = 0;
  for (auto& sum : sums) {
    const auto result = sum.get();
    if (!result.ok()) return Complain("vector_add", result.status());
    last = result->Output<float>("c")[3];
  }
  std::printf("vector_add: 100 jobs, the last sum is %g\n", last);
  return last == 2 * (99 + 3) ? 0 : 1;
}

// 3. An array that stays on the daemon, between jobs, until its lease is over.
int KeepAnArray(Client& client) {
  const std::vector<double> identity = {1, 0, 0, 1};
  JobOptions options;
  options.keep["c"] = {.array_name = "", .lease = std::chrono::minutes(5)};
  options.params["transpose_b"] = true;
  const auto product = client.Run("matmul", {{"a", View(identity, {2, 2})}, {"b", View(identity, {2, 2})}}, options);
  if (!product.ok()) return Complain("matmul", product.status());

  const std::string id = product->outputs.at("c").id;
  const auto again = client.Run("matmul", {{"a", ArrayRef{id}}, {"b", ArrayRef{id}}});
  if (!again.ok()) return Complain("matmul", again.status());
  std::printf("matmul: array %s times itself is %g on its diagonal\n", id.c_str(), again->Output<double>("c")[3]);
  const absl::Status freed = client.Free(id);
  return freed.ok() ? 0 : Complain("free", freed);
}

// 4. A detached job outlives this program; any other can watch it and fetch its result.
int Detach(Client& client) {
  JobOptions options;
  options.params["n"] = std::int64_t{2000};
  const auto job_id = client.Submit("integrate2d", {}, options);
  if (!job_id.ok()) return Complain("submit", job_id.status());
  const auto end = client.Watch(*job_id, [](const hotplate::v1::JobUpdate& update) {
    if (update.has_progress()) std::printf("integrate2d: %.0f %%\n", 100 * update.progress().fraction());
  });
  if (!end.ok()) return Complain("watch", end.status());
  const auto result = client.Fetch(*job_id);
  if (!result.ok()) return Complain("fetch", result.status());
  std::printf("integrate2d: %s, the integral of sin(x + y) is %g\n", hotplate::v1::JobState_Name(end->state()).c_str(),
              result->Output<double>("value")[0]);
  return 0;
}

// 5. Jobs that follow each other. Nothing waits here before the end: the daemon passes results on.
int PutOneBehindTheOther(Client& client) {
  using hotplate::client::JobCall;
  using hotplate::client::JobHandle;
  using hotplate::client::WhenAll;
  const std::vector<double> x = {1, 2, 3, 4}, y = {2, 0, 0, 2};
  const auto square = [&client](const std::vector<double>& a) {
    return client.Submit({"matmul", {{"a", View(a, {2, 2})}, {"b", View(a, {2, 2})}}});
  };
  const JobHandle sum = WhenAll({square(x), square(y)}).Then([](const std::vector<JobHandle>& squares) {
    return JobCall{"vector_add", {{"a", squares[0].Output("c")}, {"b", squares[1].Output("c")}}};
  });
  const JobHandle norm = sum.Then([](const JobHandle& job) { return JobCall{"norm", {{"x", job.Output("c")}}}; });
  const auto result = norm.Wait();
  if (!result.ok()) return Complain("norm", result.status());
  const double value = result->Output<double>("y")[0];
  std::printf("norm: job %s, behind two squares and their sum: %.4f\n", norm.id().c_str(), value);
  return std::abs(value - std::sqrt(11. * 11 + 10 * 10 + 15 * 15 + 26 * 26)) < 1e-9 ? 0 : 1;
}

// 6. A refusal names the field and its value, before anything runs or is uploaded.
int BeRefused(Client& client) {
  const std::vector<float> x(4);
  JobOptions options;
  options.params["alhpa"] = 1.0;
  const absl::Status status = client.Run("selu", {{"x", View(x, {4})}}, options).status();
  std::printf("refused, as it should be: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) && !hotplate::client::Violations(status).empty() ? 0 : 1;
}

}  // namespace

int main() {
  auto client = Client::Connect();  // finds the endpoint record, pins its certificate, sends its token
  if (!client.ok()) return Complain("connect", client.status());
  for (const auto step : {RunOne, RunMany, KeepAnArray, Detach, PutOneBehindTheOther, BeRefused}) {
    if (const int failed = step(*client); failed != 0) return failed;
  }
  return 0;
}
