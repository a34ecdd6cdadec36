"""An example of each kernel for its help(), with the result: tests run them."""

from __future__ import annotations

from typing import Mapping

EXAMPLES: Mapping[str, str] = {
    "arange": """
>>> gpu.arange(0.0, 1.0, 0.25)
array([0.  , 0.25, 0.5 , 0.75])
""",
    "argsort": """
>>> gpu.argsort([3.0, 1.0, 2.0])
array([1, 2, 0])
""",
    "batched_matvec": """
>>> matrix, vectors = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
>>> gpu.batched_matvec(matrix, vectors)
array([[1., 3.],
       [3., 7.]])
""",
    "cholesky": """
>>> gpu.cholesky([[4.0, 2.0], [2.0, 5.0]])
array([[2., 0.],
       [1., 2.]])
""",
    "eig": """
>>> w, v = gpu.eig([[0.0, -1.0], [1.0, 0.0]])
>>> w.round(12)
array([0.+1.j, 0.-1.j])
""",
    "eigh": """
>>> w, v = gpu.eigh([[2.0, 1.0], [1.0, 2.0]])
>>> w.round(12)
array([1., 3.])
""",
    "fft": """
>>> gpu.fft([1.0, 2.0, 3.0, 4.0], transform="rfft")
array([10.+0.j, -2.+2.j, -2.+0.j])
""",
    "flatnonzero": """
>>> gpu.flatnonzero([0.0, 5.0, 0.0, 7.0])
array([1, 3])
""",
    "full": """
>>> gpu.full((2, 3), 1.5)
array([[1.5, 1.5, 1.5],
       [1.5, 1.5, 1.5]])
>>> A = gpu.full((3000, 3000), 0.0, keep=True)    # nothing crosses the network
""",
    "groupby_sum": """
>>> groups = gpu.groupby_sum(np.array([3, 1, 3]), np.array([1.0, 2.0, 10.0]))
>>> groups.unique_keys, groups.sums, groups.counts
(array([1, 3]), array([ 2., 11.]), array([1, 2]))
""",
    "histogram": """
>>> counts, edges = gpu.histogram([1.0, 1.5, 4.0], bins=3)
>>> counts, edges
(array([2, 0, 1]), array([1., 2., 3., 4.]))
""",
    "integrate2d": """
>>> result = gpu.integrate2d(n=1000, x_min=0, x_max=np.pi / 2, y_min=0, y_max=np.pi / 2)
>>> float(result.value.round(5)), bool(result.error < 1e-5)
(2.0, True)
""",
    "kmeans": """
>>> points = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
>>> result = gpu.kmeans(points, points[[0, 2]])
>>> result.labels
array([0, 0, 1], dtype=int32)
>>> result.centroids
array([[0. , 0.5],
       [9. , 9. ]])
""",
    "linspace": """
>>> gpu.linspace(0, 1, 5)
array([0.  , 0.25, 0.5 , 0.75, 1.  ])
""",
    "mandelbrot": """
>>> gpu.mandelbrot(resolution=1000, max_iterations=50).shape
(1000, 1000)
""",
    "matmul": """
>>> gpu.matmul([[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]])
array([[2., 1.],
       [4., 3.]])
>>> gpu.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
array([3., 7.])
""",
    "norm": """
>>> gpu.norm([[3.0, 4.0], [6.0, 8.0]], axis=1)
array([ 5., 10.])
""",
    "pagerank": """
>>> indices, indptr = np.array([1, 2, 2]), np.array([0, 2, 3, 3])   # 0 links to 1 and 2, 1 to 2
>>> gpu.pagerank(indices, indptr).rank.round(3)
array([0.198, 0.282, 0.521])
""",
    "power_sum": """
>>> gpu.power_sum([1.0, 2.0])
array([ 3., 14.])
""",
    "qr": """
>>> gpu.qr([[3.0, 1.0], [4.0, 2.0]]).r.round(4)
array([[-5. , -2.2],
       [ 0. ,  0.4]])
""",
    "random": """
>>> x = gpu.random((2, 3), seed=7)
>>> x.shape, bool((x >= 0).all() and (x < 1).all())
((2, 3), True)
""",
    "reduce": """
>>> gpu.reduce([[1.0, 2.0], [3.0, 4.0]], operation="sum", axis=0)
array([4., 6.])
""",
    "scan": """
>>> gpu.scan([1.0, 2.0, 3.0], include_initial=True)
array([0., 1., 3., 6.])
""",
    "searchsorted": """
>>> gpu.searchsorted([1.0, 2.0, 2.0, 3.0], [2.0, 9.0])
array([1, 4])
""",
    "selu": """
>>> gpu.selu([-1.0, 0.0, 1.0]).round(4)
array([-1.1084,  0.    ,  1.05  ])
""",
    "slogdet": """
>>> result = gpu.slogdet([[0.0, 2.0], [1.0, 0.0]])
>>> float(result.sign), round(float(result.logabsdet), 4)
(-1.0, 0.6931)
""",
    "solve": """
>>> gpu.solve([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0])
array([0.5 , 0.25])
""",
    "sort": """
>>> gpu.sort([3, 1, 2])
array([1, 2, 3])
""",
    "sort_by_key": """
>>> result = gpu.sort_by_key(np.array([3, 1, 2]), np.array([30.0, 10.0, 20.0]))
>>> result.sorted_values
array([10., 20., 30.])
""",
    "spmv": """
>>> data, indices, indptr = np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])   # of a CSR matrix
>>> gpu.spmv(data, indices, indptr, np.array([10.0, 100.0]))
array([ 10., 200.])
""",
    "svd": """
>>> gpu.svd([[3.0, 0.0], [4.0, 5.0]]).s.round(4)
array([6.7082, 2.2361])
""",
    "transfer_probe": """
>>> gpu.transfer_probe(bytes=2**20).shape    # bytes a second each way
(3,)
""",
    "trig_identity": """
>>> gpu.trig_identity([0.5, 2.0]).round(12)
array([1., 1.])
""",
    "vector_add": """
>>> gpu.vector_add([1.0, 2.0], [10.0, 20.0])
array([11., 22.])
""",
}
