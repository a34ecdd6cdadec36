"""Another program that measures."""

import subprocess


class Side:
    """A program that is told on its standard input what to measure."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"run.py: {self.process.args} ended with {self.process.wait()}")
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
