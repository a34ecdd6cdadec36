#include "client/python/src/client.h"

#include <pybind11/stl.h>

#include <chrono>
#include <optional>
#include <utility>

#include "client/lib/wire.h"
#include "client/python/src/forks.h"
#include "client/python/src/interrupt.h"
#include "client/python/src/message.h"
#include "client/python/src/raise.h"
#include "client/python/src/waiting.h"

namespace hotplate::python {

namespace py = pybind11;

namespace {

double Seconds(client::nanoseconds span) { return std::chrono::duration<double>(span).count(); }

using Kept = std::map<std::string, client::KeepOutput>;

// Arrays that would stay with the session if nobody received this result.
std::vector<std::string> LeftBy(const Kept& kept, const client::JobResult& result) {
  std::vector<std::string> ids = result.left;
  for (const auto& [output, array] : result.outputs) {
    if (array.id.empty()) continue;
    const auto keep = kept.find(output);  // none: of a function, which names its outputs itself
    if (keep == kept.end() || (keep->second.array_name.empty() && !keep->second.lease)) ids.push_back(array.id);
  }
  return ids;
}

// Runs a job without uploads; on this thread, since a change of threads would be a good part of its time.
absl::StatusOr<client::JobResult> RunJob(const PyClient& self, const std::string& kernel,
                                         const std::map<std::string, client::Input>& inputs, client::JobOptions job,
                                         const client::Cancellation& stop, const Callbacks* callbacks) {
  Errand::LetGo();
  const std::shared_ptr<client::Client> client = self.Get();
  Signals signals(stop);
  if (HearsSignals()) job.on_wait = [&signals] { return signals.Look(); };
  auto result = WithoutGil([&] { return client->Run(kernel, inputs, job, &stop); });
  CheckOrDrop(signals, callbacks, [&] {
    if (result.ok()) self.Drop(LeftBy(job.keep, *result));
  });
  if (result.ok() && (!job.keep.empty() || job.function)) self.Hold(*client, LeftBy(job.keep, *result));
  return result;
}

}  // namespace

py::object Result::Take(const std::string& output) {
  const auto found = result_->outputs.find(output);
  if (found == result_->outputs.end()) throw py::key_error("job " + result_->job_id + " has no output " + output);
  client::OutputArray& array = found->second;
  if (!array.id.empty()) return py::make_tuple(array.id) + ToTuple(array.signature);
  if (!array.path.empty()) return py::str(array.path);  // the daemon wrote it there
  if (!array.buffer) return py::none();
  return ToNumpy(array.signature, std::exchange(array.buffer, nullptr), true);
}

py::list Result::Outputs() const {
  py::list names;
  for (const auto& [name, array] : result_->outputs) names.append(name);
  return names;
}

py::dict Result::Receipt() const { return ToDict(result_->receipt); }

py::dict Result::Timings() const {
  py::dict timings;
  timings["upload_seconds"] = Seconds(result_->timings.upload);
  timings["download_seconds"] = Seconds(result_->timings.download);
  timings["total_seconds"] = Seconds(result_->timings.total);
  timings["bytes_up"] = result_->timings.bytes_up;
  timings["bytes_down"] = result_->timings.bytes_down;
  return timings;
}

py::object Result::Sweep() const {
  if (!result_->sweep) return py::none();
  v1::SweepOutcome outcome = *result_->sweep;
  outcome.clear_job();
  return ToDict(outcome);
}

PyClient::PyClient(client::Client client)
    : client_(new client::Client(std::move(client)),
              [](client::Client* last) {
                // It waits for threads that may be about to take the GIL.
                const py::gil_scoped_release released;
                delete last;
              }),
      releaser_(std::make_unique<Releaser>(*client_)),
      flights_(std::make_shared<Flights>()),
      deliveries_(std::make_shared<Deliveries>([flights = flights_](AsyncCall& call) {
        call.Finish();
        flights->Remove(&call);
      })) {}

PyClient::~PyClient() {
  if (!UsedBeforeFork()) {
    Close();
    return;
  }
  // Their threads are the parent's: waiting for them would be for ever. Without memory even for this the child ends.
  // NOLINTBEGIN(bugprone-unhandled-exception-at-new)
  new std::shared_ptr<client::Client>(std::move(client_));
  static_cast<void>(releaser_.release());
  new std::shared_ptr<Flights>(flights_);
  new std::shared_ptr<Deliveries>(deliveries_);
  // NOLINTEND(bugprone-unhandled-exception-at-new)
}

std::shared_ptr<client::Client> PyClient::Get() const {
  if (UsedBeforeFork()) throw std::runtime_error(kForked);
  if (!client_) throw std::runtime_error("this client is closed: connect again");
  return client_;
}

void PyClient::CheckMayWait() const {
  if (UsedBeforeFork()) throw std::runtime_error(kForked);
  if (deliveries_->IsHere()) {
    throw std::runtime_error(
        "this thread tells of the ends of calls (it runs the callbacks of add_done_callback): to wait in it "
        "for another call would be for ever; add a callback to that one, or wait in a thread of your own");
  }
}

void PyClient::Close() {
  if (!client_ || UsedBeforeFork()) return;
  Errand::LetGo();
  std::shared_ptr<client::Client> last = std::exchange(client_, nullptr);
  std::list<client::Cancellation> watches = watches_;
  {
    const py::gil_scoped_release released;
    for (client::Cancellation& watch : watches) watch.Cancel();
    // Otherwise the daemon would let them run for its grace period. Waits for its confirmation of the cancels.
    constexpr std::chrono::seconds kPatience(1);
    flights_->CancelAll();
    if (!deliveries_->IsHere()) flights_->Wait(kPatience);
  }
  {
    std::unique_ptr<Releaser> releaser = std::exchange(releaser_, nullptr);
    const py::gil_scoped_release released;
    releaser.reset();
  }
  last.reset();
  const py::gil_scoped_release released;
  // A function of the user's that hangs there is not to hang the end of the program too.
  constexpr std::chrono::seconds kPatience(5);
  deliveries_->Flush(kPatience);
}

std::unique_ptr<Result> PyClient::Run(const std::string& kernel, const py::dict& inputs, const Options& options,
                                      const client::Cancellation* cancellation) const {
  const auto waiting = std::make_shared<Waiting>(*this, cancellation);
  auto converted = waiting->held.Inputs(inputs);
  client::JobOptions job = ToJobOptions(options, waiting->held, waiting->callbacks);
  if (!client::HaveUploads(converted))
    return Remembered(RunJob(*this, kernel, converted, std::move(job), waiting->stop, waiting->callbacks.get()));
  const auto left_by = [kept = job.keep](const client::JobResult& result) { return LeftBy(kept, result); };
  auto run = [kernel, converted = std::move(converted), job = std::move(job)](
                 client::Client& client, const client::Cancellation* stop, const Signals& signals) mutable {
    job.on_wait = [&signals] { return signals.patient(); };
    return client.Run(kernel, converted, job, stop);
  };
  return Remembered(Leavable(*this, waiting, cancellation != nullptr, std::move(run), left_by));
}

std::unique_ptr<Result> PyClient::Remembered(absl::StatusOr<client::JobResult> result) const {
  if (!result.ok()) Raise(result.status());
  auto shared = std::make_shared<client::JobResult>(*std::move(result));
  last_.Set(shared);
  return std::make_unique<Result>(std::move(shared));
}

void PyClient::Hold(client::Client& client, const std::vector<std::string>& ids) const {
  if (releaser_) {
    for (const std::string& id : ids) releaser_->Own(id);
    return;
  }
  const py::gil_scoped_release released;
  for (const std::string& id : ids) client.Free(id).IgnoreError();
}

void PyClient::Drop(const std::vector<std::string>& ids) const {
  if (!releaser_) return;  // with the session
  for (const std::string& id : ids) {
    releaser_->Own(id);
    releaser_->Release(id);
  }
}

std::unique_ptr<Result> PyClient::Last() const {
  std::shared_ptr<client::JobResult> last = last_.Get();
  return last ? std::make_unique<Result>(std::move(last)) : nullptr;
}

std::shared_ptr<AsyncCall> PyClient::RunAsync(const std::string& kernel, const py::dict& inputs, const Options& options,
                                              const client::Cancellation* cancellation, const py::object& done) const {
  const auto call = std::make_shared<AsyncCall>(OrNew(cancellation), done);
  auto converted = call->held().Inputs(inputs);
  client::JobOptions job = ToJobOptions(options, call->held(), call->callbacks());
  Errand::LetGo();
  const auto client = Get();
  job.on_update = [call, on_update = std::move(job.on_update)](const v1::JobUpdate& update) {
    call->Note(update);
    if (on_update) on_update(update);
  };
  job.on_sent = [call](const std::string& request_id) { call->Sent(request_id); };
  const auto ended = [call, deliveries = deliveries_](absl::StatusOr<client::JobResult> result) {
    call->Land(std::move(result));
    deliveries->Add(call);
  };
  flights_->Add(call);
  // The GIL may be kept: no thread waits for it while holding a lock of the library. Releasing it for a small call
  // would cost more than the call: it would go to the delivering thread for one end, and come back.
  constexpr std::size_t kSmall = std::size_t{1} << 14;
  std::optional<py::gil_scoped_release> released;
  if (call->held().bytes() > kSmall) released.emplace();
  client->RunAsync(kernel, std::move(converted), std::move(job), ended, &call->cancellation());
  return call;
}

std::string PyClient::Submit(const std::string& kernel, const py::dict& inputs, const Options& options,
                             const client::Cancellation* cancellation) const {
  const auto waiting = std::make_shared<Waiting>(*this, cancellation);
  auto converted = waiting->held.Inputs(inputs);
  client::JobOptions job = ToJobOptions(options, waiting->held, waiting->callbacks);
  auto submit = [kernel, converted = std::move(converted), job = std::move(job)](
                    client::Client& client, const client::Cancellation* stop, const Signals&) {
    return client.Submit(kernel, converted, job, stop);
  };
  const auto left_by = [](const std::string&) { return std::vector<std::string>(); };
  return OrRaise(Leavable(*this, waiting, cancellation != nullptr, std::move(submit), left_by));
}

py::dict PyClient::Check(const std::string& kernel, const py::dict& inputs, const Options& options) const {
  Waiting waiting(*this, nullptr);
  const auto converted = waiting.held.Inputs(inputs);
  const client::JobOptions job = ToJobOptions(options, waiting.held, waiting.callbacks);
  return ToDict(
      OrRaise(waiting.For([&](auto& client, const auto* stop) { return client.Check(kernel, converted, job, stop); })));
}

py::dict PyClient::Put(const py::object& array, const std::string& name, std::optional<double> lease, bool replace,
                       const std::string& device, const py::object& on_upload,
                       const client::Cancellation* cancellation) const {
  const auto waiting = std::make_shared<Waiting>(*this, cancellation);
  client::PutOptions options{.name = name,
                             .lease = ToDuration(lease),
                             .replace = replace,
                             .device = device,
                             .on_upload = ToProgress(on_upload, waiting->callbacks)};
  auto put = [view = waiting->held.View(array), options = std::move(options)](
                 client::Client& client, const client::Cancellation* stop, const Signals&) {
    return client.Put(view, options, stop);
  };
  const auto left_by = [stays = !name.empty() || lease](const v1::Array& there) {
    return stays ? std::vector<std::string>() : std::vector<std::string>{there.id()};
  };
  return ToDict(OrRaise(Leavable(*this, waiting, cancellation != nullptr, std::move(put), left_by)));
}

py::object PyClient::GetArray(const std::string& id, const py::object& on_download,
                              const client::Cancellation* cancellation) const {
  const Waiting waiting(*this, cancellation);
  const auto progress = ToProgress(on_download, waiting.callbacks);
  const client::OutputArray array =
      OrRaise(waiting.For([&](auto& client, const auto* stop) { return client.Get(id, progress, stop); }));
  return ToNumpy(array.signature, array.buffer);
}

void PyClient::GetInto(const std::string& id, const py::object& destination, std::optional<std::uint64_t> offset,
                       const py::object& on_download, const client::Cancellation* cancellation) const {
  Waiting waiting(*this, cancellation);
  const std::span<std::byte> bytes = waiting.held.Writable(destination);
  const auto progress = ToProgress(on_download, waiting.callbacks);
  RaiseUnlessOk(waiting.For([&](auto& client, const auto* stop) {
    return offset ? client.GetRange(id, *offset, bytes, progress, stop) : client.GetInto(id, bytes, progress, stop);
  }));
}

std::unique_ptr<Result> PyClient::Wait(const std::string& job_id, const client::Cancellation* cancellation) const {
  const Waiting waiting(*this, cancellation);
  return Remembered(waiting.For([&](auto& client, const auto* stop) { return client.Wait(job_id, stop); }));
}

std::unique_ptr<Result> PyClient::Fetch(const std::string& job_id, const py::object& on_download,
                                        const client::Cancellation* cancellation) const {
  const Waiting waiting(*this, cancellation);
  const auto progress = ToProgress(on_download, waiting.callbacks);
  return Remembered(waiting.For([&](auto& client, const auto* stop) { return client.Fetch(job_id, progress, stop); }));
}

py::dict PyClient::Watch(const std::string& job_id, const py::object& on_update,
                         const client::Cancellation* cancellation) const {
  const Waiting waiting(*this, cancellation);
  const auto tell = [&](const v1::JobUpdate& update) {
    if (!on_update.is_none()) waiting.callbacks->Call([&] { on_update(ToDict(update)); });
  };
  return ToDict(OrRaise(waiting.For([&](auto& client, const auto* stop) { return client.Watch(job_id, tell, stop); })));
}

void PyClient::WatchTelemetry(double interval, const py::object& on_sample,
                              const client::Cancellation* cancellation) const {
  const Waiting waiting(*this, cancellation);
  const client::nanoseconds between = *ToDuration(interval);
  const auto tell = [&](const v1::TelemetrySample& sample) {
    bool more = false;
    waiting.callbacks->Call([&] {
      const int truth = PyObject_IsTrue(on_sample(ToDict(sample)).ptr());
      if (truth < 0) throw py::error_already_set();
      more = truth != 0;
    });
    return more;
  };
  struct Listed {
    std::list<client::Cancellation>& list;
    std::list<client::Cancellation>::iterator at;
    ~Listed() { list.erase(at); }
  } listed{watches_, watches_.insert(watches_.end(), waiting.stop)};
  RaiseUnlessOk(
      waiting.For([&](auto& client, const auto* stop) { return client.WatchTelemetry(between, tell, stop); }));
}

namespace {

std::unique_ptr<PyClient> Connect(std::string server, std::string endpoint, std::string directory, std::string session,
                                  bool contact, double deadline, double connect_timeout, int retries, double reconnect,
                                  const py::object& on_connection) {
  if (UsedBeforeFork()) throw std::runtime_error(kForked);
  NoteUse();
  client::ConnectOptions options{.server = std::move(server),
                                 .endpoint = std::move(endpoint),
                                 .directory = std::move(directory),
                                 .session = std::move(session),
                                 .contact = contact,
                                 .deadline = *ToDuration(deadline),
                                 .connect_timeout = *ToDuration(connect_timeout),
                                 .retries = retries,
                                 .reconnect = *ToDuration(reconnect)};
  const std::shared_ptr<py::object> kept = Keep(on_connection);
  if (kept) {
    options.on_connection = [kept](const absl::Status& status) {
      const py::gil_scoped_acquire gil;
      try {
        (*kept)(status.ok() ? py::none() : ToException(status));
      } catch (py::error_already_set& error) {
        error.discard_as_unraisable("on_connection of a client of hotplate");
      }
    };
  }
  return std::make_unique<PyClient>(
      OrRaise(Asked([&](const auto* stop) { return client::Client::Connect(options, stop); })));
}

// The answer to a short question, of a client that it gets: question(client, stop).
template <typename Question>
auto Answer(const PyClient& self, const Question& question) {
  const std::shared_ptr<client::Client> client = self.Get();
  return Asked([&](const auto* stop) { return question(*client, stop); });
}

template <typename Question>
auto Ask(const PyClient& self, const Question& question) {
  return OrRaise(Answer(self, question));
}

template <typename Message>
py::list ToList(const std::vector<Message>& messages) {
  py::list list;
  for (const Message& message : messages) list.append(ToDict(message));
  return list;
}

}  // namespace

void BindClient(py::module_& module) {
  using client::Cancellation;
  py::class_<Cancellation>(module, "Cancellation", "Stops a call from another thread: its job is cancelled.")
      .def(py::init<>())
      .def(
          "cancel",
          [](Cancellation& self) {
            if (!UsedBeforeFork()) self.Cancel();
          },
          py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("cancelled", &Cancellation::cancelled);

  py::class_<Result>(module, "Result", "The result of a job.")
      .def_property_readonly("job_id", &Result::job_id)
      .def_property_readonly("warning", &Result::warning)
      .def("outputs", &Result::Outputs)
      .def("take", &Result::Take, py::arg("output"))
      .def("receipt", &Result::Receipt)
      .def("timings", &Result::Timings)
      .def("sweep", &Result::Sweep);

  const auto none = py::none();
  py::class_<PyClient>(module, "Client", "A connection to a daemon.")
      .def("run", &PyClient::Run, py::arg("kernel"), py::arg("inputs"), py::arg("options"),
           py::arg("cancellation") = none)
      .def("run_async", &PyClient::RunAsync, py::arg("kernel"), py::arg("inputs"), py::arg("options"),
           py::arg("cancellation"), py::arg("done"))
      .def("submit", &PyClient::Submit, py::arg("kernel"), py::arg("inputs"), py::arg("options"),
           py::arg("cancellation") = none)
      .def("check", &PyClient::Check, py::arg("kernel"), py::arg("inputs"), py::arg("options"))
      .def("put", &PyClient::Put, py::arg("array"), py::arg("name") = "", py::arg("lease") = none,
           py::arg("replace") = false, py::arg("device") = "", py::arg("on_upload") = none,
           py::arg("cancellation") = none)
      .def("get", &PyClient::GetArray, py::arg("id"), py::arg("on_download") = none, py::arg("cancellation") = none)
      .def("get_into", &PyClient::GetInto, py::arg("id"), py::arg("destination"), py::arg("offset") = none,
           py::arg("on_download") = none, py::arg("cancellation") = none)
      .def("wait", &PyClient::Wait, py::arg("job_id"), py::arg("cancellation") = none)
      .def("fetch", &PyClient::Fetch, py::arg("job_id"), py::arg("on_download") = none, py::arg("cancellation") = none)
      .def("watch", &PyClient::Watch, py::arg("job_id"), py::arg("on_update") = none, py::arg("cancellation") = none)
      .def("watch_telemetry", &PyClient::WatchTelemetry, py::arg("interval"), py::arg("on_sample"),
           py::arg("cancellation") = none)
      .def("last_result", &PyClient::Last)
      .def("remember", &PyClient::Remember, py::arg("result"))
      .def("own", &PyClient::Own, py::arg("id"))
      .def("disown", &PyClient::Disown, py::arg("id"))
      .def("release_later", &PyClient::ReleaseLater, py::arg("id"))
      .def("check_may_wait", &PyClient::CheckMayWait)
      .def("close", &PyClient::Close)
      .def_property_readonly("closed", &PyClient::closed)
      .def_property_readonly("session", [](const PyClient& self) { return self.Get()->session(); })
      .def_property_readonly("moves", [](const PyClient& self) { return self.Get()->moves(); })
      .def_property_readonly("server_name", [](const PyClient& self) { return self.Get()->server_name(); })
      .def_property_readonly("guest", [](const PyClient& self) { return self.Get()->record().guest(); })
      .def("kernels",
           [](const PyClient& self) {
             return ToList(Ask(self, [](auto& client, const auto* stop) { return client.Kernels(stop); }));
           })
      .def(
          "describe",
          [](const PyClient& self, const std::string& kernel) {
            return ToDict(Ask(self, [&](auto& client, const auto* stop) { return client.Describe(kernel, stop); }));
          },
          py::arg("kernel"))
      .def(
          "open_environment",
          [](const PyClient& self, const std::string& python, const py::list& environment, const std::string& folder,
             const std::string& name, bool or_default) {
            v1::Program program;
            program.set_kind("python");
            program.set_python_environment(name);
            program.set_or_default_environment(or_default);
            program.add_arguments(python);
            for (const py::handle& variable : environment) program.add_environment(variable.cast<std::string>());
            program.set_folder(folder);
            return ToDict(
                Ask(self, [&](auto& client, const auto* stop) { return client.OpenEnvironment(program, stop); }));
          },
          py::arg("python"), py::arg("environment"), py::arg("folder"), py::arg("name"), py::arg("or_default"))
      .def(
          "put_function",
          [](const PyClient& self, const std::string& name, const py::bytes& code) {
            const auto text = code.cast<std::string_view>();
            return Ask(self, [&](auto& client, const auto* stop) { return client.PutFunction(name, text, stop); });
          },
          py::arg("name"), py::arg("code"))
      .def("info",
           [](const PyClient& self) {
             return ToDict(Ask(self, [](auto& client, const auto* stop) { return client.Info(stop); }));
           })
      .def(
          "telemetry",
          [](const PyClient& self, std::uint32_t history) {
            return ToDict(Ask(self, [&](auto& client, const auto* stop) { return client.Telemetry(history, stop); }));
          },
          py::arg("history") = 1)
      .def(
          "describe_array",
          [](const PyClient& self, const std::string& id) {
            return ToDict(Ask(self, [&](auto& client, const auto* stop) { return client.DescribeArray(id, stop); }));
          },
          py::arg("id"))
      .def("arrays",
           [](const PyClient& self) {
             return ToDict(Ask(self, [](auto& client, const auto* stop) { return client.Arrays(stop); }));
           })
      .def(
          "free",
          [](const PyClient& self, const std::string& id) {
            RaiseUnlessOk(Answer(self, [&](auto& client, const auto* stop) { return client.Free(id, stop); }));
          },
          py::arg("id"))
      .def(
          "renew",
          [](const PyClient& self, const std::string& id, double lease) {
            const client::nanoseconds duration = *ToDuration(lease);
            return ToDict(Ask(self, [&](auto& client, const auto* stop) { return client.Renew(id, duration, stop); }));
          },
          py::arg("id"), py::arg("lease"))
      .def(
          "save_array",
          [](const PyClient& self, const std::string& id) {
            return Ask(self, [&](auto& client, const auto* stop) { return client.SaveArray(id, stop); });
          },
          py::arg("id"))
      .def(
          "job",
          [](const PyClient& self, const std::string& job_id) {
            return ToDict(Ask(self, [&](auto& client, const auto* stop) { return client.Job(job_id, stop); }));
          },
          py::arg("job_id"))
      .def(
          "why",
          [](const PyClient& self, const std::string& job_id) {
            return ToDict(Ask(self, [&](auto& client, const auto* stop) { return client.Why(job_id, stop); }));
          },
          py::arg("job_id"))
      .def(
          "jobs",
          [](const PyClient& self, bool own_session, bool active_only, const std::string& graph) {
            v1::ListJobsRequest request;
            request.set_graph(graph);
            request.set_own_session(own_session);
            request.set_active_only(active_only);
            return ToList(Ask(self, [&](auto& client, const auto* stop) { return client.Jobs(request, stop); }));
          },
          py::arg("own_session") = false, py::arg("active_only") = false, py::arg("graph") = "")
      .def(
          "cancel",
          [](const PyClient& self, const std::string& job_id) {
            return ToDict(Ask(self, [&](auto& client, const auto* stop) { return client.Cancel(job_id, stop); }));
          },
          py::arg("job_id"));

  module.def("check_not_forked", [] {
    if (UsedBeforeFork()) throw std::runtime_error(kForked);
  });
  module.def("connect", &Connect, py::arg("server") = "", py::arg("endpoint") = "", py::arg("directory") = "",
             py::arg("session") = "", py::arg("contact") = true, py::arg("deadline") = 30.0,
             py::arg("connect_timeout") = 5.0, py::arg("retries") = 3, py::arg("reconnect") = 120.0,
             py::arg("on_connection") = none);
}

}  // namespace hotplate::python
