"""The real driver, as far as fakes stand for it elsewhere: what it is told to hide, what it tells of the device."""

import re

from .daemon import Daemon, wait_until
from .idle import calls_for, small_call
from .results import Failed, NotRun

# Ids that no device has.
NO_GPU, NO_MIG = "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff", "MIG-ffffffff-ffff-ffff-ffff-ffffffffffff"
HIDING = {"empty": ("", "set and empty"), "a UUID of no GPU": (NO_GPU, NO_GPU), "a UUID of no MIG instance": (NO_MIG, NO_MIG),
          "nonsense": ("tesla", "tesla")}


# bad input

def bad_input_checks(_kit):
    return [f"CUDA_VISIBLE_DEVICES: {name}" for name in HIDING] + ["CUDA_VISIBLE_DEVICES: the UUID", "a device that is not there"]


def refusal(kit, *flags, environment=None):
    """What a daemon says that does not start."""
    code, out, err = kit.command(kit.place.program("hotplated") + ["--name", "refused", *flags], timeout=60,
                                 env=kit.environment | {"HOTPLATE_DIR": f"{kit.folder}/refused"} | (environment or {}))
    if code == 0:
        raise Failed(f"hotplated {' '.join(flags)} started and ended well: {(out + err).strip()[:300]}")
    return (out + err).strip()


def bad_input(kit):
    for name, (value, says) in HIDING.items():
        with kit.check(f"CUDA_VISIBLE_DEVICES: {name}") as facts:
            said = refusal(kit, "--require-cuda", environment={"CUDA_VISIBLE_DEVICES": value})
            facts["said"] = said[:600]
            if "CUDA_VISIBLE_DEVICES" not in said or says not in said:
                raise Failed(f"it does not name CUDA_VISIBLE_DEVICES and '{says}': {said[:300]}")
    with kit.check("CUDA_VISIBLE_DEVICES: the UUID") as facts:
        wanted = (kit.facts.get("device") or {}).get("uuid")
        facts["uuid"] = wanted
        before = kit.environment
        kit.environment = before | {"CUDA_VISIBLE_DEVICES": wanted}
        try:
            with Daemon(kit, "--require-cuda", name="by-uuid", device="cuda") as daemon:
                found = [device["uuid"] for device in daemon.devices()]
        finally:
            kit.environment = before
        if found != [wanted]:
            raise Failed(f"the daemon has {found}")
    with kit.check("a device that is not there") as facts:
        said = refusal(kit, "--device", "gpu63")
        facts["said"] = said[:600]
        if not re.search(r"there is no gpu63: the driver gives gpu0", said):
            raise Failed(f"it does not name the devices that are there: {said[:300]}")


# telemetry

METRICS = ["powerWatts", "energyJoules", "smClockMhz", "memoryClockMhz", "temperatureCelsius"]


def telemetry_checks(_kit):
    return ["power, energy and clocks", "energy in a long receipt", "none in a short one"]


def telemetry(kit):
    with Daemon(kit) as daemon:
        sample, mig = {}, "MIG" in (kit.facts.get("device") or {}).get("mode", "")

        def newest():
            told = daemon.answer("devices")
            found = next((one for one in told.get("sample", {}).get("devices", [])), {})
            return found | {"notes": told.get("notes", [])}
        with kit.check("power, energy and clocks") as facts:
            wait_until(lambda: newest().get("device"), "the device was sampled")
            sample = newest()
            absent = [name for name in METRICS if name not in sample]
            facts |= {"sample": {key: value for key, value in sample.items() if key != "processes"}, "absent": absent}
            if absent:
                missing_metrics(kit, absent, sample)
        with kit.check("energy in a long receipt") as facts:
            kit.need("integrate2d")
            n = calls_for(daemon, 1_000_000_000)
            receipt = daemon.answer("run", "integrate2d", "--n", n)["receipt"]
            facts["receipt"] = receipt
            state = receipt.get("energyState")
            if mig and state == "ENERGY_OF_WHOLE_GPU":
                raise NotRun("a MIG instance has no energy of its own, and the receipt says so")
            if "energyJoules" not in sample and state == "ENERGY_NOT_MEASURABLE":
                raise NotRun("the device has no energy counter, and the receipt says so")
            seconds = int(receipt["kernelNs"]) / 1e9
            if state != "ENERGY_MEASURED" or not receipt.get("energyJoules") or not receipt.get("meanWatts"):
                raise Failed(f"energy of {seconds:.2f} s: {state}, {receipt.get('energyJoules')} J, {receipt.get('meanWatts')} W")
            limit = sample.get("powerLimitWatts")
            if limit and not 1 < receipt["meanWatts"] < 1.5 * limit:
                raise Failed(f"{receipt['meanWatts']} W on average, and the limit is {limit} W")
        with kit.check("none in a short one") as facts:
            receipt = daemon.answer("run", *small_call(kit))["receipt"]
            facts["energy_state"] = receipt.get("energyState")
            if "energyJoules" in receipt or receipt.get("energyState") == "ENERGY_MEASURED":
                raise Failed(f"a kernel of {receipt.get('kernelNs')} ns has {receipt.get('energyJoules')} J")


def missing_metrics(kit, absent, sample):
    """Each is optional; but what nvidia-smi tells here, the daemon must tell too."""
    why = f"the driver does not tell {', '.join(absent)}: {'; '.join(sample['notes']) or 'no note'}"
    fields = {"powerWatts": "power.draw", "smClockMhz": "clocks.sm", "memoryClockMhz": "clocks.mem",
              "temperatureCelsius": "temperature.gpu"}
    uuid = (kit.facts.get("device") or {}).get("uuid", "")
    if kit.facts.get("nvidia_smi") and uuid.startswith("GPU-"):
        asked = [name for name in absent if name in fields]
        if asked:
            _, out, _ = kit.command(["nvidia-smi", "-i", uuid, f"--query-gpu={','.join(fields[name] for name in asked)}",
                                     "--format=csv,noheader,nounits"], timeout=20)
            told = [name for name, word in zip(asked, out.strip().split(",")) if re.match(r"\s*\d", word)]
            if told:
                raise Failed(f"nvidia-smi tells {', '.join(told)} here, and the daemon does not: {why}")
    raise NotRun(why)
