"""Complex matrices by kernels that take real ones.

Each number a + bi becomes the matrix [[a, -b], [b, a]]. Sums, products, inverses, Cholesky factors and least squares of such
matrices are of this form again, and their singular values come twice. What has no such way is done step by step, column by column.
"""

from __future__ import annotations

import math

from ..arrays import Array
from .creation import arange, eye, tril, triu
from .elementwise import abs, conj, imag, real, sqrt
from .indexing import take_along_axis
from .manipulation import broadcast_to, concat, stack
from .operands import applied, bound
from .products import matmul, together
from .sorting import argsort


def as_pairs(value: Array) -> Array:
    """Complex matrices [..., m, n] as real ones [..., 2m, 2n]."""
    return _pairs(value.real, value.imag)


def hermitian_pairs(value: Array) -> Array:
    """Hermitian matrices as symmetric ones, as `as_pairs`: the lower triangles say all. Imaginary parts on their diagonals are
    taken for 0, as LAPACK does."""
    return _pairs(value.real, tril(value.imag, k=-1))


def _pairs(a: Array, b: Array) -> Array:
    *before, rows, columns = a._shape
    # One stack of matrices: on the way there are two axes more, and an array has at most 8.
    a, b = (part.reshape((math.prod(before), rows, columns)) for part in (a, b))
    blocks = stack([stack([a, -b], axis=-1), stack([b, a], axis=-1)], axis=-3)  # [..., m, 2, n, 2]
    return blocks.reshape((*before, 2 * rows, 2 * columns))


def from_pairs(value: Array) -> Array:
    """Complex matrices of real ones, as `as_pairs` makes them."""
    return together(value[..., ::2, ::2], value[..., 1::2, ::2])


def columns_of(value: Array) -> Array:
    """Complex columns [..., m, k] as real ones [..., 2m, k]."""
    return as_pairs(value)[..., ::2]


def from_columns(value: Array) -> Array:
    """Complex columns [..., m, k] of real ones [..., 2m, k], as `columns_of` makes them."""
    return together(value[..., ::2, :], value[..., 1::2, :])


def pivots(value: Array) -> tuple[list[Array], Array]:
    """The pivots of square matrices in Gaussian elimination with exchange of rows, and the sign of the exchanges: one step for
    each column."""
    found: list[Array] = []
    signs: list[Array] = []
    rest = value
    for size in range(value._shape[-1], 0, -1):
        best = abs(rest[..., 0]).argmax(-1, keepdims=True)
        row = take_along_axis(rest, best[..., None], axis=-2)
        pivot = row[..., 0, 0]
        found.append(pivot)
        signs.append(applied("where(equal({},0),1,-1)", (best[..., 0],), "where"))
        if size > 1:
            places = _places(size - 1, rest)
            others = applied("where(equal({},{}),{},{})", (places, best[..., None], rest[..., :1, :], rest[..., 1:, :]), "where")
            factor = applied("where(equal({0},0),{0},divide({1},{0}))", (pivot[..., None, None], others[..., :1]), "divide")
            rest = (others[..., 1:] - factor * row[..., 1:]).compute()
    return found, stack(signs).prod(0).astype(value.real._dtype)


def _places(count: int, like: Array) -> Array:
    """1, 2 and so on, down the rows of matrices."""
    with bound(like._client):
        return arange(1, count + 1)[:, None]


def householder(value: Array) -> tuple[Array, Array]:
    """Q [..., m, m] and R [..., m, n] of complex matrices by reflections, one step for each column."""
    rows, columns = value._shape[-2:]
    with bound(value._client):
        q = broadcast_to(eye(rows, dtype=value._dtype), value._shape[:-2] + (rows, rows))
    # Squares of the elements must not overflow.
    scale = abs(value).max((-2, -1), keepdims=True)
    scale = applied("where(logical_and(greater({0},0),isfinite({0})),{0},1)", (scale,), "where").astype(scale._dtype, copy=False)
    r = value / scale
    for step in range(min(rows, columns)):
        below = r[..., step]
        mask = _places(rows, value)[:, 0] > step
        x = applied("where({},{},0)", (mask, below), "where")
        length = sqrt((real(x) ** 2 + imag(x) ** 2).sum(-1))
        head = below[..., step]
        size = abs(head)
        # The reflection that makes the column the multiple of a unit vector with the opposite phase.
        phase = applied("where(equal({0},0),1,divide({1},{0}))", (size, head), "divide")
        at_head = _places(rows, value)[:, 0] == step + 1
        v = applied("where({},{},{})", (at_head, (head + phase * length)[..., None], x), "where")
        norm = (real(v) ** 2 + imag(v) ** 2).sum(-1)
        twice = applied("where(equal({0},0),0,divide(2,{0}))", (norm,), "divide")[..., None, None]
        r = (r - twice * v[..., :, None] * (conj(v)[..., :, None] * r).sum(-2, keepdims=True)).compute()
        q = (q - twice * (q * v[..., None, :]).sum(-1, keepdims=True) * conj(v)[..., None, :]).compute()
    return q, triu(r * scale)


def _independent(columns: Array, count: int) -> tuple[Array, Array]:
    """Orthonormal vectors [..., m, count] among columns [..., m, k] that span each direction twice, and which columns they come
    from, in order: one step for each vector, which takes the longest column and removes its direction from the others."""
    vectors, places = [], []
    for _ in range(count):
        sizes = (real(columns) ** 2 + imag(columns) ** 2).sum(-2)
        place = sizes.argmax(-1, keepdims=True)
        vector = take_along_axis(columns, place[..., None, :], axis=-1)
        vector = (vector / sqrt((real(vector) ** 2 + imag(vector) ** 2).sum(-2, keepdims=True))).compute()
        columns = (columns - vector * (conj(vector) * columns).sum(-2, keepdims=True)).compute()
        vectors.append(vector)
        places.append(place)
    found = concat(places, axis=-1)
    order = argsort(found)
    return take_along_axis(concat(vectors, axis=-1), order[..., None, :], axis=-1), take_along_axis(found, order)


def hermitian(value: Array) -> tuple[Array, Array]:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices."""
    done = value._client.eigh.run(hermitian_pairs(value), keep=True)
    vectors, places = _independent(from_columns(done.v), value._shape[-1])
    return take_along_axis(done.w, places), vectors


def singular(value: Array) -> tuple[Array, Array, Array]:
    """U [..., m, m], the singular values and Vh [..., n, n] of complex matrices."""
    rows, columns = value._shape[-2:]
    if rows < columns:
        u, s, vh = singular(value.mT.conj())
        return vh.mT.conj(), s, u.mT.conj()
    done = value._client.svd.run(as_pairs(value), compute="thin", keep=True)
    v, places = _independent(from_columns(done.vt.mT), columns)
    # The columns of x v are orthogonal, and as long as the singular values: their QR factors are u and a diagonal matrix.
    q, r = householder(matmul(value, v))
    heads = r.diagonal(0, -2, -1)
    sizes = abs(heads)
    phases = applied("where(equal({0},0),1,divide({1},{0}))", (sizes, heads), "divide")
    u = concat([q[..., :columns] * phases[..., None, :], q[..., columns:]], axis=-1)
    return u, take_along_axis(done.s, places), v.mT.conj()
