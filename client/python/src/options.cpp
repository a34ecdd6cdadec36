#include "client/python/src/options.h"

#include <pybind11/stl.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "client/lib/wire.h"
#include "client/python/src/message.h"

namespace hotplate::python {

namespace py = pybind11;

namespace {

client::ParamValue ToParam(const std::string& name, py::handle value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::int_>(value)) {
    const long long number = PyLong_AsLongLong(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return static_cast<std::int64_t>(number);
  }
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  throw py::type_error("parameter " + name + " is a " + std::string(Py_TYPE(value.ptr())->tp_name) +
                       "; parameters are int, float, bool or str");
}

v1::Sweep ToSweep(const py::dict& from) {
  v1::Sweep sweep;
  for (const py::handle& one : py::list(from["axes"])) {
    const auto [name, values] = one.cast<std::pair<std::string, py::object>>();
    v1::SweepAxis& axis = *sweep.add_axes();
    axis.set_name(name);
    if (py::isinstance<py::tuple>(values)) {
      const auto range = values.cast<py::tuple>();
      client::ToWire(ToParam(name, range[0]), *axis.mutable_range()->mutable_first());
      client::ToWire(ToParam(name, range[1]), *axis.mutable_range()->mutable_step());
      axis.mutable_range()->set_count(range[2].cast<std::uint64_t>());
    } else {
      for (const py::handle& value : values.cast<py::list>())
        client::ToWire(ToParam(name, value), *axis.mutable_list()->add_values());
    }
  }
  if (!from["most_failed"].is_none()) sweep.set_most_failed(from["most_failed"].cast<std::uint64_t>());
  sweep.set_retries(from["retries"].cast<std::uint32_t>());
  return sweep;
}

v1::Precision ToPrecision(const std::string& name) {
  if (name.empty() || name == "default") return v1::PRECISION_UNSPECIFIED;
  if (name == "tf32") return v1::PRECISION_TF32;
  if (name == "bf16") return v1::PRECISION_BF16;
  if (name == "f16") return v1::PRECISION_F16;
  throw py::value_error("precision is '" + name + "'; there are 'default', 'tf32', 'bf16' and 'f16'");
}

}  // namespace

std::optional<client::nanoseconds> ToDuration(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  // A century is longer than any wait, and keeps the sum in range.
  constexpr double kLongest = 3.2e9;
  if (!(*seconds >= 0))
    throw py::value_error("a duration is " + std::to_string(*seconds) + " seconds; it must not be negative");
  return client::nanoseconds(static_cast<std::int64_t>(std::ceil(std::min(*seconds, kLongest) * 1e9)));
}

Callbacks::~Callbacks() {
  if (!raised_) return;
  const py::gil_scoped_acquire gil;
  raised_.reset();
}

std::shared_ptr<py::object> Keep(const py::object& callable) {
  if (callable.is_none()) return nullptr;
  return {new py::object(callable), [](py::object* object) {
            const py::gil_scoped_acquire gil;
            delete object;
          }};
}

std::function<void(std::uint64_t, std::uint64_t)> ToProgress(const py::object& callable,
                                                             const std::shared_ptr<Callbacks>& callbacks) {
  const std::shared_ptr<py::object> kept = Keep(callable);
  if (!kept) return nullptr;
  return [kept, callbacks](std::uint64_t done, std::uint64_t total) { callbacks->Call([&] { (*kept)(done, total); }); };
}

client::JobOptions ToJobOptions(const Options& options, HeldBuffers& held,
                                const std::shared_ptr<Callbacks>& callbacks) {
  client::JobOptions job;
  for (const auto& [key, value] : options.params) {
    std::string name = key.cast<std::string>();
    client::ParamValue converted = ToParam(name, value);
    job.params.emplace(std::move(name), std::move(converted));
  }
  for (const auto& [key, value] : options.keep) {
    const auto [name, lease] = value.cast<std::pair<std::string, std::optional<double>>>();
    job.keep[key.cast<std::string>()] = {name, ToDuration(lease)};
  }
  for (const auto& [key, value] : options.for_jobs) job.for_jobs[key.cast<std::string>()] = value.cast<std::uint32_t>();
  for (const py::handle& id : options.after) job.after.push_back(id.cast<std::string>());
  for (const py::handle& id : options.after_requests) job.after_requests.push_back(id.cast<std::string>());
  job.graph = options.graph;
  job.node = options.node;
  for (const auto& [key, value] : options.out) job.destinations[key.cast<std::string>()] = held.Writable(value);
  if (!options.function.is_none()) {
    const auto [function, environment, keep, alone, cpus] =
        options.function.cast<std::tuple<std::string, std::string, bool, bool, std::uint32_t>>();
    v1::FunctionCall& call = job.function.emplace();
    call.set_function(function);
    call.set_environment(environment);
    call.set_keep(keep);
    call.set_alone(alone);
    call.set_cpus(cpus);
  }
  job.expression = options.expression;
  if (!options.sweep.is_none()) job.sweep = ToSweep(options.sweep.cast<py::dict>());
  job.label = options.label;
  job.device = options.device;
  job.precision = ToPrecision(options.precision);
  job.deterministic = options.deterministic;
  job.priority = options.priority;
  job.time_limit = ToDuration(options.time_limit);
  job.deadline = ToDuration(options.deadline);
  job.request_id = options.request_id;
  job.leave_result = options.leave_result;
  job.detach_on_disconnect = options.detach;
  const std::shared_ptr<py::object> on_update = Keep(options.on_update), on_printed = Keep(options.on_printed);
  if (on_update || on_printed) {
    job.on_update = [on_update, on_printed, callbacks](const v1::JobUpdate& update) {
      if (!update.has_printed()) {
        if (on_update) callbacks->Call([&] { (*on_update)(ToDict(update)); });
      } else if (on_printed) {
        const v1::ProgramPiece& piece = update.printed();
        callbacks->Call(
            [&] { (*on_printed)(py::bytes(piece.has_err() ? piece.err() : piece.out()), piece.has_err()); });
      }
    };
  }
  job.on_upload = ToProgress(options.on_upload, callbacks);
  job.on_download = ToProgress(options.on_download, callbacks);
  return job;
}

void BindOptions(py::module_& module) {
  py::class_<Options>(module, "Options", "The options of a call, beside its kernel and inputs.")
      .def(py::init<>())
      .def_readwrite("params", &Options::params)
      .def_readwrite("keep", &Options::keep)
      .def_readwrite("out", &Options::out)
      .def_readwrite("for_jobs", &Options::for_jobs)
      .def_readwrite("after", &Options::after)
      .def_readwrite("after_requests", &Options::after_requests)
      .def_readwrite("graph", &Options::graph)
      .def_readwrite("node", &Options::node)
      .def_readwrite("device", &Options::device)
      .def_readwrite("precision", &Options::precision)
      .def_readwrite("deterministic", &Options::deterministic)
      .def_readwrite("request_id", &Options::request_id)
      .def_readwrite("label", &Options::label)
      .def_readwrite("function", &Options::function)
      .def_readwrite("expression", &Options::expression)
      .def_readwrite("sweep", &Options::sweep)
      .def_readwrite("priority", &Options::priority)
      .def_readwrite("time_limit", &Options::time_limit)
      .def_readwrite("deadline", &Options::deadline)
      .def_readwrite("leave_result", &Options::leave_result)
      .def_readwrite("detach", &Options::detach)
      .def_readwrite("on_update", &Options::on_update)
      .def_readwrite("on_printed", &Options::on_printed)
      .def_readwrite("on_upload", &Options::on_upload)
      .def_readwrite("on_download", &Options::on_download);
}

}  // namespace hotplate::python
