#include "server/manual.h"

#include "kernels/array/quoted.h"
#include "server/settings.h"
#include "server/version.h"

namespace hotplate::server {
namespace {

std::string Item(const std::string& title, const std::string& text) {
  return ".TP\n.B " + Roff(title) + "\n" + Roff(text) + ".\n";
}

std::string Shown(const Setting& setting) {
  return "--" + setting.flag + (setting.value.empty() ? "" : " " + setting.value);
}

// The setting's help, its default, and its other two names.
std::string Explained(const Setting& setting) {
  std::string text = setting.help;
  if (const auto value = DefaultOf(setting)) text += ". Default: " + *value;
  return text + ". Variable " + setting.variable + ", key " + setting.key;
}

}  // namespace

std::string ManualPage() {
  std::string page =
      ".TH HOTPLATED 1 \"\" \"Hotplate " + std::string(kVersion) +
      "\" \"User Commands\"\n"
      ".SH NAME\nhotplated \\- keeps devices, arrays and kernels ready for jobs\n"
      ".SH SYNOPSIS\n.B hotplated\n[\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n" +
      Roff(
          "Opens the devices, listens with TLS, and publishes an endpoint record. hotplate(1) and the client library "
          "find the daemon by this record. SIGTERM, SIGINT, SIGHUP (unless ignored, as under nohup), hotplate down "
          "and the idle timeout make it drain: it accepts no more jobs, lets running jobs finish within the drain "
          "timeout, and exits. A second signal makes it exit at once. SIGTERM and SIGHUP count as a second signal "
          "only 3 seconds after the first, because Slurm sends SIGTERM twice.\n") +
      ".PP\n" +
      Roff(
          "Each option is also a variable of the environment and a key of the configuration file. "
          "Options win over variables, variables over the file. Sizes: 64MiB, 2GB. Durations: 500ms, "
          "20s, 15m, 2h.\n") +
      ".SH IN A SLURM ALLOCATION\n" +
      Roff(
          "Start the daemon as the last line of a batch script (exec hotplated), or in a step. It is named "
          "CLUSTER-JOBID, with -NODE if srun starts one on each of several nodes, and listens on all of the node's "
          "addresses, with TLS and token. It uses the GPUs in CUDA_VISIBLE_DEVICES, and reports if their number or "
          "identity differs from what Slurm gave. It keeps to SLURM_CPUS_ON_NODE and to Slurm's memory limit even if "
          "no cgroup enforces them.\n") +
      ".PP\n" +
      Roff(
          "The daemon knows when the allocation ends, from SLURM_JOB_END_TIME and from squeue, which it asks every "
          "--squeue-interval because limits change. It refuses a job whose time limit reaches into the last 15 "
          "seconds, warns watchers 10 and 2 minutes before the end, and drains in time, with or without a signal. "
          "After a signal it exits within Slurm's KillWait, after which Slurm kills it. It learns KillWait from "
          "scontrol show config at its start and otherwise assumes 30 seconds; of 30 seconds, jobs get 18.5. An idle "
          "daemon ends itself and its job. Whenever it ends, it saves arrays whose lease has not run out as .npy "
          "files (--scratch), within the drain timeout, or within 5 minutes if it was idle. The log names the saved "
          "and the lost arrays.\n") +
      ".PP\n" +
      Roff(
          "Without --log-file the daemon logs to standard error, which is Slurm's output file. If that is a regular "
          "file, the endpoint record names it for hotplate logs.\n") +
      ".PP\n" +
      Roff(
          "In an LSF job the daemon takes the job's identity from LSB_JOBID, LSB_MCPU_HOSTS or LSB_HOSTS, LSB_QUEUE "
          "and LSF_CLUSTER. It does not know when such a job ends. None of this has been run on a real LSF.\n") +
      ".SH CUDA'S LIBRARIES\n" +
      Roff(
          "If a driver finds a GPU, the daemon opens its plug-in for GPUs, libhotplate_cudaN.so, in its own folder. "
          "The plug-in needs only the driver. Six kernels also call a library of CUDA of the same major version N: "
          "matmul calls cuBLASLt, fft cuFFT, and cholesky, solve, eigh and svd cuSOLVER. The daemon opens a library "
          "when the first of its kernels runs. Without it, these kernels are refused on GPUs; the others run. The "
          "daemon looks in the folders of HOTPLATE_CUDA_LIBRARY_PATH; in LD_LIBRARY_PATH; in the toolkit "
          "that CUDA_HOME, CUDA_PATH, CUDA_ROOT, EBROOTCUDA, CUDATOOLKIT_HOME or CONDA_PREFIX names; in "
          "/usr/local/cuda*; among Python's packages (nvidia-cublas, nvidia-cufft and nvidia-cusolver from pip) of the "
          "active environment (VIRTUAL_ENV, CONDA_PREFIX) and in ~/.local; and where the dynamic linker looks. "
          "The log says which libraries were found. hotplate devices says which kernels are not available.\n") +
      ".SH CONNECTIONS\n" +
      Roff(
          "A connection that sends nothing is closed after 10 seconds. If file descriptors run short, new connections "
          "wait and the log says so. The daemon reserves 64 for itself and a quarter of all for inputs and outputs by "
          "path. It "
          "raises its soft limit (ulimit -n) to 16384, or to the hard limit. Compressed messages are refused, because "
          "their true size would have no bound. Strangers at the port can make gRPC log what they like, so its lines "
          "are cut to 200 bytes, and of its errors at most ten lines a minute are shown.\n"
          "Incoming messages take at most --inbox-bytes of memory, and requests in progress as much again, a guest's a "
          "quarter of it. When that is full, requests over 64 KiB are refused. If incoming messages exceed it, gRPC "
          "ends "
          "some calls, anybody's, so that the daemon survives.\n") +
      ".SH OPTIONS\n";
  for (const Setting& setting : Settings()) page += Item(Shown(setting), Explained(setting));
  page += Item("--config FILE", "configuration file in TOML. Variable HOTPLATE_CONFIG");
  page += Item("--check-config", "print the effective configuration and exit");
  page += Item("--man", "print this page and exit");
  page += Item("--help", "list the options and exit");
  page += Item("--version", "print the version and exit");
  page += Item("-v", "with --version: the versions of the libraries, too");
  page += ".SH EXIT STATUS\n";
  page += Item("0", "it served and ended as requested");
  page += Item("2", "an option, a variable or the configuration file is wrong");
  page += Item(
      "4",
      "it cannot start: no usable device, no free port or address, or no space for its record (a full disk, a quota)");
  page += Item("5", "a daemon of this name is running");
  page += Item(
      "6",
      "the folder of the records, the audit log or the log file is not private or cannot be written (no permission, a "
      "read-only file system); set HOTPLATE_DIR to another folder, or --audit-log to another file");
  return page +
         ".SH ENVIRONMENT\n.TP\n.B HOTPLATE_DIR\nThe folder of endpoint records (default ~/.hotplate).\n.TP\n.B "
         "HOTPLATE_CUDA_LIBRARY_PATH\nFolders, separated by colons, in which to look for CUDA's libraries "
         "first.\n.SH FILES\n.TP\n.I ~/.config/hotplate/hotplated.toml\nThe default configuration file; in "
         "$XDG_CONFIG_HOME if that is set.\n.TP\n.I ~/.hotplate/servers/NAME.json\nThe endpoint record: addresses, "
         "certificates, the client key and the token. Mode 0600.\n.TP\n.I ~/.hotplate/saved/NAME/\nArrays saved when "
         "the daemon of that name ended. Later daemons drop them (--saved-age, --saved-bytes).\n.TP\n.I "
         "~/.hotplate/audit/NAME.jsonl\nWho did what by which token, as JSON lines (--audit-log, --audit-bytes). Mode "
         "0600.\n.SH EXAMPLE\n.nf\n" +
         Roff("  hotplated --name mine --lanes 4 --idle-timeout 30m --log-level debug\n") +
         ".fi\n.SH SEE ALSO\n.BR hotplate (1)\n";
}

}  // namespace hotplate::server
