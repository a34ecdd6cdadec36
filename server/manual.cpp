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
      ".SH NAME\nhotplated \\- holds an allocation's devices, arrays and kernels ready for jobs\n"
      ".SH SYNOPSIS\n.B hotplated\n[\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n" +
      Roff(
          "Opens the devices, listens with TLS, and publishes an endpoint record that hotplate(1) and "
          "the client library find it by. It serves until SIGTERM, SIGINT, SIGHUP (unless ignored, as "
          "under nohup), hotplate down or the idle timeout; then it takes no more jobs, lets those that "
          "run end within the drain timeout, and "
          "leaves. A second signal makes it leave at once; SIGTERM and SIGHUP count as a second one only 3 "
          "seconds after the first, for Slurm sends SIGTERM twice.\n") +
      ".PP\n" +
      Roff(
          "Each option is also a variable of the environment and a key of the configuration file. "
          "Options win over variables, variables over the file. Sizes: 64MiB, 2GB. Durations: 500ms, "
          "20s, 15m, 2h.\n") +
      ".SH IN A SLURM ALLOCATION\n" +
      Roff(
          "Started by a batch script (exec hotplated as its last line) or a step, the daemon is named "
          "CLUSTER-JOBID (with -NODE where srun starts one on each of several nodes) and listens on all "
          "of the node's addresses; TLS and token are on as ever. It uses the GPUs that "
          "CUDA_VISIBLE_DEVICES shows, and says where these are not as many as Slurm gave, or are others; it keeps to "
          "SLURM_CPUS_ON_NODE and Slurm's memory limit even where no cgroup does.\n") +
      ".PP\n" +
      Roff(
          "It knows when the allocation ends (SLURM_JOB_END_TIME, and squeue asked every "
          "--squeue-interval: limits change), refuses a job whose time limit goes beyond that or "
          "into the last 15 seconds, which are the daemon's own, warns "
          "those who watch 10 and 2 minutes before it, and drains in time, with or without a signal. "
          "On a signal it is gone within Slurm's KillWait (scontrol show config, asked when it starts; 30 seconds "
          "where there is no answer), after which Slurm kills: of 30 seconds jobs have 18.5. "
          "An idle daemon ends itself, and with it the job. However it ends, arrays under a lease that "
          "is not over are saved as .npy files (--scratch), within the drain timeout, or 5 minutes when "
          "it ends because it was idle; the log names them, and those that were dropped.\n") +
      ".PP\n" +
      Roff(
          "Without --log-file it logs to standard error, which is Slurm's output file; if that is a "
          "regular file, the endpoint record names it, for hotplate logs.\n") +
      ".PP\n" +
      Roff(
          "In a job of LSF the daemon takes the job's identity from LSB_JOBID, LSB_MCPU_HOSTS or LSB_HOSTS, LSB_QUEUE "
          "and LSF_CLUSTER. It does not know when such a job ends. Nothing of this was ever run on an LSF.\n") +
      ".SH CUDA'S LIBRARIES\n" +
      Roff(
          "The plug-in for GPUs, libhotplate_cudaN.so beside the daemon, is opened where a driver finds a GPU, and "
          "needs nothing else. Some kernels call a library of CUDA's, of the plug-in's major version N, which is "
          "opened when the first of them runs: matmul cuBLASLt, fft cuFFT, cholesky, solve, eigh and svd cuSOLVER. "
          "Without it these are refused on GPUs, and the others run. It is looked for in the folders of "
          "HOTPLATE_CUDA_LIBRARY_PATH; beside the plug-in; in LD_LIBRARY_PATH; in the toolkit that CUDA_HOME, "
          "CUDA_PATH, CUDA_ROOT, EBROOTCUDA or CUDATOOLKIT_HOME names; in /usr/local/cuda*; in Python's packages "
          "(nvidia-cublas, nvidia-cufft and nvidia-cusolver as pip installs them) in PYTHONPATH, of the active "
          "environment or Python module, of the python3 in PATH (or the one that pyenv starts there by "
          "PYENV_VERSION or globally), in ~/.local and of the system's; and where the dynamic linker looks. The log "
          "says which were found, and hotplate devices which kernels are not to be had.\n") +
      ".SH CONNECTIONS\n" +
      Roff(
          "Who connects and says nothing is put out after 10 seconds. While file descriptors are short, new "
          "connections wait, which the log says: the daemon keeps 64 for itself, and inputs by path of jobs that "
          "wait or run may have a quarter of all. It raises its soft limit (ulimit -n) to 16384, or to the hard "
          "one. Compressed messages are refused, since their true size would have no bound. What gRPC says is cut "
          "to 200 bytes a line in the log, and of its errors ten lines a minute are shown: strangers at the port "
          "make it say what they like.\n") +
      ".SH OPTIONS\n";
  for (const Setting& setting : Settings()) page += Item(Shown(setting), Explained(setting));
  page += Item("--config FILE", "configuration file in TOML. Variable HOTPLATE_CONFIG");
  page += Item("--check-config", "print the effective configuration and end");
  page += Item("--man", "print this page and end");
  page += Item("--help", "list the options and end");
  page += Item("--version", "print the version and end");
  page += ".SH EXIT STATUS\n";
  page += Item("0", "it served, and ended as it was told");
  page += Item("2", "an option, a variable or the configuration file makes no sense");
  page += Item(
      "4",
      "it cannot start: no usable device, no free port or address, or no room (a full disk, a quota) for its record");
  page += Item("5", "a daemon of this name runs already");
  page += Item(
      "6",
      "the folder of the records, or the log file, is not private or cannot be written (no permission, a read-only "
      "file system): HOTPLATE_DIR names another");
  return page +
         ".SH ENVIRONMENT\n"
         ".TP\n.B HOTPLATE_DIR\nWhere endpoint records are kept (default ~/.hotplate).\n"
         ".TP\n.B HOTPLATE_CUDA_LIBRARY_PATH\nFolders, with colons between them, in which CUDA's libraries are looked "
         "for first.\n"
         ".SH FILES\n"
         ".TP\n.I ~/.config/hotplate/hotplated.toml\nThe configuration file that is read unless another is named; in "
         "$XDG_CONFIG_HOME where that is set.\n"
         ".TP\n.I ~/.hotplate/servers/NAME.json\nThe endpoint record: addresses, certificates, the clients' key "
         "and token. Mode 0600.\n"
         ".TP\n.I ~/.hotplate/saved/NAME/\nArrays that were under a lease when the daemon of that name ended. Later "
         "daemons drop them (--saved-age, --saved-bytes).\n"
         ".SH EXAMPLE\n.nf\n" +
         Roff("  hotplated --name mine --lanes 4 --idle-timeout 30m --log-level debug\n") +
         ".fi\n.SH SEE ALSO\n.BR hotplate (1)\n";
}

}  // namespace hotplate::server
