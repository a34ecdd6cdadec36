"""The kernels of Numba's side, as its users write them. Imported where Numba is."""

import math

from numba import cuda, float32

X_MAX, Y_MAX = 1.0, 2.0  # as peer.py has them


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def trig_identity(x, out):
    i = cuda.grid(1)
    if i < out.size:
        cosine, sine = math.cos(x[i]), math.sin(x[i])
        out[i] = cosine * cosine + sine * sine


@cuda.jit
def selu(x, out):
    i = cuda.grid(1)
    if i < out.size:
        alpha, scale = out.dtype.type(1.67), out.dtype.type(1.05)
        out[i] = scale * (x[i] if x[i] > 0 else alpha * math.expm1(x[i]))


@cuda.jit
def power_sum(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i] * x[i] + x[i] * x[i] * x[i]


@cuda.jit
def batched_matvec(a, x, out):
    # One thread an element of a product: of the batch's own matrix, or of the one that is there for all.
    row, each = cuda.grid(2)
    if each < out.shape[0] and row < out.shape[1]:
        matrix = each if a.shape[0] > 1 else 0
        total = float32(0)
        for column in range(x.shape[1]):
            total += a[matrix, row, column] * x[each, column]
        out[each, row] = total


@cuda.jit(device=True)
def row_of(i, n):
    # The sum over y, in float32, of one x.
    h, k = float32(X_MAX) / float32(n), float32(Y_MAX) / float32(n)
    total = float32(0)
    if i < n:
        x = (float32(i) + float32(0.5)) * h
        for j in range(n):
            y = (float32(j) + float32(0.5)) * k
            total += math.sin(x + y)
    return total * h * k


@cuda.jit
def integrate_naive(partial, n):
    # One thread an x, a sum a thread: whoever wants the integral adds them up.
    i = cuda.grid(1)
    if i < n:
        partial[i] = row_of(i, n)


@cuda.jit
def integrate(partial, n):
    # The same; the block adds up in shared memory, 16 threads each.
    shared = cuda.shared.array(16, float32)
    total = row_of(cuda.grid(1), n)
    shared[cuda.threadIdx.x] = total
    cuda.syncthreads()
    step = 8
    while step > 0:
        if cuda.threadIdx.x < step:
            shared[cuda.threadIdx.x] += shared[cuda.threadIdx.x + step]
        cuda.syncthreads()
        step //= 2
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def mandelbrot(counts, x_min, x_max, y_min, y_max, iterations):
    column, row = cuda.grid(2)
    resolution = counts.shape[0]
    if row < resolution and column < resolution:
        c_x = x_min + (x_max - x_min) * column / (resolution - 1)
        c_y = y_min + (y_max - y_min) * row / (resolution - 1)
        z_x, z_y = c_x, c_y
        count = 0
        while count < iterations and z_x * z_x + z_y * z_y < 4:
            z_x, z_y = z_x * z_x - z_y * z_y + c_x, 2 * z_x * z_y + c_y
            count += 1
        counts[row, column] = count
