"""LDL factors of one real matrix on the host, by panels of columns, as LAPACK's lasyf has them: the
rest of the matrix is updated by a product after each panel."""

from __future__ import annotations

import infinicore
from infinicore._tensor import Tensor

_PANEL = 32


class Panels:
    """The factors of A, symmetric with both triangles, which is overwritten."""

    def __init__(self, A: Tensor, alpha: float) -> None:
        self.A, self.n, self.alpha = A, A.shape[-1], alpha
        self.pivots: list[int] = []
        self.info = 0
        self.rows = infinicore.zeros_like(A)  # the columns of the result
        while len(self.pivots) < self.n:
            self._panel()
        self.packed = self.rows.transpose(0, 1)

    def _panel(self) -> None:
        """Columns of L, and of L D in `products`, for the rows that are left; stored as rows."""
        first, kind = len(self.pivots), self.A.dtype
        self.lower = infinicore.zeros(_PANEL + 1, self.n, dtype=kind)
        self.products = infinicore.zeros(_PANEL + 1, self.n, dtype=kind)
        done = 0
        while done < _PANEL and first + done < self.n:
            done += self._step(first + done, done)
        end = first + done
        if end < self.n:
            rest = self.A[end:, end:]
            rest -= self.lower[:done, end:].transpose(0, 1) @ self.products[:done, end:]

    def _column(self, row: int, k: int, done: int) -> Tensor:
        """A column of the rest of A from row k on, after the columns of this panel."""
        given = self.A[row, k:]
        if not done:
            return given.clone()
        return given - self.products[:done, row] @ self.lower[:done, k:]

    def _step(self, k: int, done: int) -> int:
        """The number of columns that the pivot at k takes."""
        column = self._column(k, k, done)
        if k + 1 == self.n:
            return self._single(k, k, done, column)
        sizes = abs(column)
        here = float(sizes[0])
        place = int(infinicore.argmax(sizes[1:])) + 1
        largest = float(sizes[place])
        if not here < self.alpha * largest:
            return self._single(k, k, done, column)
        other = self._column(k + place, k, done)
        sizes = abs(other)
        there = float(sizes[place])
        beside = float(infinicore.amax(sizes[:place]))
        if k + place + 1 < self.n:
            beside = max(beside, float(infinicore.amax(sizes[place + 1 :])))
        if here * beside >= self.alpha * largest * largest:
            return self._single(k, k, done, column)
        if there >= self.alpha * beside:
            return self._single(k, k + place, done, other)
        return self._pair(k, k + place, done, column, other)

    def _exchange(self, one: int, two: int, done: int) -> None:
        if one == two:
            return
        panels = (self.lower[:done], self.products[:done]) if done else ()
        for each in (self.A, *(each.transpose(0, 1) for each in (self.A, *panels))):
            kept = each[one].clone()
            each[one].copy_(each[two])
            each[two].copy_(kept)

    def _single(self, k: int, place: int, done: int, column: Tensor) -> int:
        self._exchange(k, place, done)
        if place != k:
            self._swap(column, 0, place - k)
        pivot = float(column[0])
        self.pivots.append(place + 1)
        if pivot == 0:
            self.info = self.info or k + 1
        self.products[done, k:].copy_(column)
        self.lower[done, k:].copy_(column if pivot == 0 else column / pivot)
        self.rows[k, k:].copy_(self.lower[done, k:])
        self.rows[k, k] = pivot
        self.lower[done, k] = 1
        return 1

    def _pair(self, k: int, place: int, done: int, column: Tensor, other: Tensor) -> int:
        self._exchange(k + 1, place, done)
        for each in (column, other):
            if place != k + 1:
                self._swap(each, 1, place - k)
        self.pivots += [-place - 1] * 2
        a, b, d = float(column[0]), float(column[1]), float(other[1])
        scale = a * d - b * b
        one, two = column[2:], other[2:]
        self.products[done, k:].copy_(column)
        self.products[done + 1, k:].copy_(other)
        self.rows[k, k : k + 2].copy_(column[:2])
        self.rows[k + 1, k + 1] = d
        for row, made in ((0, one * d - two * b), (1, two * a - one * b)):
            self.rows[k + row, k + 2 :].copy_(made / scale)
        self.lower[done : done + 2, k + 2 :].copy_(self.rows[k : k + 2, k + 2 :])
        self.lower[done, k] = 1
        self.lower[done + 1, k + 1] = 1
        return 2

    @staticmethod
    def _swap(vector: Tensor, one: int, two: int) -> None:
        first, second = float(vector[one]), float(vector[two])
        vector[one], vector[two] = second, first
