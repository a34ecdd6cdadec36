"""What the user's own functions do in these benchmarks. A module, so that every library's workers can import it."""

import time


def nothing():
    pass


def plus_one(x):
    return x + 1


def endless():
    while True:
        pass


def endless_and_deaf():
    while True:
        try:
            while True:
                time.sleep(0.001)
        except KeyboardInterrupt:
            pass


class Actor:
    def nothing(self):
        pass

    def plus_one(self, x):
        return x + 1
