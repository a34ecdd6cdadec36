#!/usr/bin/python3
"""hp.up on a real Slurm, in scripts as alice runs them on the login node: the job is there for the block, and no longer."""

import re
import shutil
import signal
import textwrap
import threading

import harness
from harness import OK, PATIENCE, wait_until


class PythonUp(harness.SlurmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # As pip would have put it there: without links to where alice may not go.
        shutil.copytree(harness.BIN.parent / "python", cls.lab.folder / "python", ignore=shutil.ignore_patterns("__pycache__"))
        cls.environment = cls.environment | {"PYTHONPATH": str(cls.lab.folder / "python"), "PYTHONDONTWRITEBYTECODE": "1"}

    def tearDown(self):
        self.lab.end_jobs()

    def script(self, block, up="gpus=1, time='10m', daemon_options=['--device', 'cpu']"):
        program = f"import time\nimport hotplate as hp\nwith hp.up({up}) as gpu:\n" + textwrap.indent(textwrap.dedent(block), "    ")
        process = self.lab.start("login", ["/usr/bin/python3", "-c", program], env=self.environment)
        self.processes.append(process)
        return process

    def ended(self, process):
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def nothing_goes_on(self):
        wait_until(lambda: not self.lab.squeue("%i"), "no job was left in the queue")
        self.no_process_left("gpu1", "gpu2")

    def test_start_work_release(self):
        code, out, err = self.ended(self.script("print(gpu.integrate2d(n=64).error < 1e-3, gpu.devices[0]['id'])"))
        self.assertEqual(code, OK, err)
        self.assertIn("True cpu0", out)
        self.assertIn("request checked against site profile generic-slurm and by sbatch --test-only", err)
        job = re.search(r"job (\d+)  RUNNING  on gpu[12]", err).group(1)
        self.assertEqual(self.lab.state(job), "COMPLETED")
        self.nothing_goes_on()

    def test_a_client_goes_over_to_the_job_that_follows_on(self):
        process = self.script("""
            import numpy as np
            x = np.arange(5.0)
            A = gpu.array(x, name="A", lease="1h")
            first = gpu.info()["allocation"]["job_id"]
            waits = [gpu.submit_detached("integrate2d", n=64) for _ in range(50)]
            print("first", first, flush=True)
            while gpu.info()["allocation"]["job_id"] == first:  # also while there is no daemon
                time.sleep(0.1)
            print("then", gpu.sort(-A).tolist(), (A + 1).numpy().tolist(), len([gpu.wait(job) for job in waits]))
        """, up="name='work', follow_on=1, gpus=1, time='10m', daemon_options=['--device', 'cpu', '--drain-timeout', '1s']")
        first = process.stdout.readline().split()
        self.assertEqual(first[:1], ["first"], first or process.stderr.read())
        self.lab.lines("scancel", first[1])  # as at its time limit: SIGTERM first
        code, out, err = self.ended(process)
        self.assertEqual(code, OK, err)
        self.assertIn("then [-4.0, -3.0, -2.0, -1.0, -0.0] [1.0, 2.0, 3.0, 4.0, 5.0] 50", out)
        self.assertEqual(self.lab.state(first[1]), "CANCELLED")
        self.nothing_goes_on()

    def test_release_after_an_error(self):
        code, _, err = self.ended(self.script("raise OSError('of the script')"))
        self.assertEqual(code, 1)
        self.assertIn("OSError: of the script", err)
        self.nothing_goes_on()

    def test_slurms_own_words(self):
        code, _, err = self.ended(self.script("pass", up="partition='nosuch', time='10m'"))
        self.assertEqual(code, 1)
        self.assertRegex(err, r"SchedulerRefused: (.*\n)*.*invalid partition specified")
        self.nothing_goes_on()

    def test_ctrl_c_in_the_queue(self):
        blocker = self.sbatch("-N2", "--gres=gpu:2", "-t", "30", "-o", "/dev/null", "--wrap", "sleep 1000")
        self.wait_for_job(blocker, "RUNNING")
        process = self.script("print('never')")
        said = []
        reader = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
        reader.start()
        wait_until(lambda: "PENDING" in "".join(said), "it said that it waits")
        job = re.search(r"job (\d+)  PENDING", "".join(said)).group(1)
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(process.wait(PATIENCE), OK)
        reader.join(PATIENCE)
        self.assertIn("KeyboardInterrupt", "".join(said))
        self.assertEqual(self.lab.state(job), "CANCELLED")
        self.assertEqual(self.lab.state(blocker), "RUNNING")


if __name__ == "__main__":
    harness.main()
