"""Blocks whose calls are one graph of jobs: `with gpu.graph("fit") as g:`.

1. In the block a call is prepared as any other, and noted (noted.py). It returns a GraphCall (call.py, detached.py), which later
   calls take.
2. At the end of the block the daemon checks each call, with the signatures of those before it in place of their results
   (sending.py).
3. Then they are sent, each with references to those that it takes, which may not have begun. What only they take is for them alone.
   The block ends when the daemon has taken them all.
"""

from .call import GraphCall
from .graph import Graph

__all__ = ["Graph", "GraphCall"]
