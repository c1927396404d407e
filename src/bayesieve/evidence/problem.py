"""Fitting problem of contributions: rows, coefficients of deviations, the log loss, and its curvature.

Contributions of cells (levels or finer pieces of them) are counted first. The fit adds a deviation to each:
coefficients times the basis functions of the feature's `Shape`. Coefficients have normal priors; those of a *group*
share a prior variance. For given prior variances, this module computes the mode of their posterior and its Laplace
approximation; the module `solver` searches for the variances. *Logits* are the log odds of the second class for two
classes (n_logits = 1), otherwise the log joint of each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import get_lapack_funcs
from scipy.optimize import minimize
from scipy.sparse import csr_array, vstack
from scipy.special import expit, softmax

from bayesieve.counts.row_hashes import draw_by_content, hash_codes, mixed
from bayesieve.engine import map_in_threads
from bayesieve.evidence.calibration import informative_rows, row_slices
from bayesieve.evidence.monotone import SIDES
from bayesieve.evidence.shapes import Shape

N_FACTORS = 4
"""Number of shared error factors: the main directions of the errors of rows, which explain 97 % of their spread."""
_POWERS = 4
_DIGITS = 4  # decimals of factors, in nats

_RARE = 0.01  # expected variance of jumps and single cells, relative to curves (benchmarks/decisions/curves.md)
_INTERCEPT_VARIANCE = 1.0
_MANY_FEATURES = 16  # more features share the expected variance of 16 of them (benchmarks/decisions/samples.md)
_EXPECTED_VARIANCE = 0.0625  # variance of deviations tried first, for two classes of equal size, in squared nats
_LEAST_IN_THREADS = 100_000  # rows x parameters below which starting threads takes longer than it saves
_STIFFNESS = 10.0  # curvature per row of the penalty on forbidden decreases of contributions
_CURVATURE_ROWS = 3000  # sampled rows; the curvature affects variances and convergence, but not the optimum
_MOST_WHOLE, _MOST_CELLS = 1000, 2000  # parameters and cells up to which the curvature of all rows saves time
_MOST_IN_DOUBLE = 250_000  # entries of all curvature matrices up to which they are kept in double precision
_DIGITS_OF_SHARES = 9
_SETTLING_STEPS = 10


class LogitScale(NamedTuple):
    """Factors that convert between logits and contributions to classes, from `logit_scale`.

    Parameters
    ----------
    square : sum over the classes of the squared contributions that a logit of 1 stands for.
    share : factor on sums over logits, which corrects for logits that add up to 0.
    """

    square: float
    share: float


def n_logits_of(n_classes: int) -> int:
    """Return the number of logits of a row: 1 for two classes, otherwise one for each class."""
    return 1 if n_classes == 2 else n_classes


def logit_scale(n_logits: int) -> LogitScale:
    """Return the factors `square` and `share` that convert between logits and contributions to classes.

    Two classes share one logit, the difference of their contributions, so that a logit of 1 stands for contributions of
    -1/2 and 1/2: `square` is 0.5. With more classes, each has a logit. These logits add up to zero, so that sums over
    them count one too many: `share` is (n_logits - 1) / n_logits.
    """
    return LogitScale(0.5, 1.0) if n_logits == 1 else LogitScale(1.0, (n_logits - 1) / n_logits)


class DesignRows(NamedTuple):
    """Rows of a fit: codes (n_features, n_rows) of the cells of each row, offset (n_rows, n_logits) to which deviations
    (fitted corrections of counted contributions) are added, classes (n_rows,) as positions, and weights (n_rows,).
    """

    codes: np.ndarray
    offset: np.ndarray
    classes: np.ndarray
    weights: np.ndarray


class CurvatureSample(NamedTuple):
    """Sample of rows from which second derivatives of the loss are computed.

    ``matrix`` (n_rows, n_functions + 1) is its design matrix: the values of all basis functions, and ones for the
    intercept.
    """

    rows: DesignRows
    matrix: np.ndarray


class LossAtPoint(NamedTuple):
    """Log loss of the rows in nats at the parameters ``point`` (n_parameters, n_logits), and its gradient
    (n_parameters, n_logits).
    """

    point: np.ndarray
    loss: float
    gradient: np.ndarray


class Curvature(NamedTuple):
    """Second derivatives of the log loss with respect to the parameters, separately for each logit.

    ``dense`` (n_logits, n, n) are matrices for the n basis functions and the intercept; ``single`` (n_single, n_logits)
    are diagonals for coefficients that belong to one cell each.
    """

    dense: np.ndarray
    single: np.ndarray


class RisingNeighbours(NamedTuple):
    """Pairs of neighbouring cells of monotone features, over which contributions to the second of two classes must not
    fall.

    Parameters
    ----------
    lower, upper : (n,) both cells of each pair, numbered over all features.
    counted : (n,) rise of the counted contributions from the lower to the upper cell, in nats.
    by_functions : (n, intercept + 1) rise of each basis function from the lower to the upper cell.
    """

    lower: np.ndarray
    upper: np.ndarray
    counted: np.ndarray
    by_functions: np.ndarray

    def falls(self, table: np.ndarray) -> np.ndarray:
        """Return the forbidden decreases of contributions between the neighbours, (n,), in nats: negative, or 0 if
        there is none.

        ``table`` (n_cells, 1) holds the deviations of all cells, feature after feature.
        """
        return np.minimum(self.counted + table[self.upper, 0] - table[self.lower, 0], 0.0)


@dataclass(frozen=True, eq=False)
class Design:
    """Parameters of the deviations (fitted corrections of counted contributions) of several features, and the sparse
    matrix that maps parameters to deviations of cells.

    Parameters are the coefficients of all basis functions, the intercept, and the coefficients of single cells, in this
    order. Each has one value per logit.

    Parameters
    ----------
    n_logits : 1 for two classes, otherwise the number of classes.
    n_groups, n_parameters : number of groups of coefficients with a common prior variance, and number of parameters.
    precision : floating-point type of curvature matrices; double, in which the order of sums has no visible effect, if
        the matrices are small.
    n_cells : (n_features,) number of cells of each feature.
    first_cell : (n_features + 1,) first row of each feature in ``basis``, then the number of rows. Each feature has one
        row per cell and one for rows without a cell.
    first_function : (n_features + 1,) first parameter of each feature's basis functions, then their number.
    intercept : position of the intercept among the parameters.
    group : (n_parameters,) group of each parameter. The intercept has the last group.
    feature : (n_groups,) feature of each group.
    is_jump : (n_groups,) mask of the groups that are a jump of a curve.
    expected : (n_groups,) expected variance, relative to that of most groups.
    single : (n_single,) rows of ``basis`` that belong to cells with a coefficient of their own.
    basis, transposed : sparse matrix (n_cells, n_parameters) from parameters to deviations, and its transpose.
    rising : neighbouring cells over which contributions must not fall, or None.
    """

    n_logits: int
    n_groups: int
    n_parameters: int
    precision: type[np.floating]
    n_cells: np.ndarray
    first_cell: np.ndarray
    first_function: np.ndarray
    intercept: int
    group: np.ndarray
    feature: np.ndarray
    is_jump: np.ndarray
    expected: np.ndarray
    single: np.ndarray
    basis: csr_array
    transposed: csr_array
    rising: RisingNeighbours | None


def build_design(shapes: Sequence[Shape], n_logits: int) -> Design:
    """Number the parameters of all features; return their design, with the sparse matrix from parameters to deviations.

    A deviation is the correction, in nats, of the contribution that counts give to a cell: a level or a piece of one.
    ``shapes`` hold the basis functions of each feature; ``n_logits`` is 1 for two classes, otherwise the number of
    classes.
    """
    n_cells = np.array([shape.n_cells + 1 for shape in shapes], dtype=np.int64)
    first_cell = np.concatenate([[0], np.cumsum(n_cells)])
    first = np.concatenate([[0], np.cumsum([shape.groups.size for shape in shapes])]).astype(np.int64)
    intercept, n_single = int(first[-1]), 0
    groups, single_groups, single = [], [], [np.zeros(0, dtype=np.int64)]
    feature: list[int] = []  # feature of each group
    is_jump: list[bool] = []
    expected: list[float] = []
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # cells, parameters and values
    for k, shape in enumerate(shapes):
        entries.append((shape.cells + first_cell[k], shape.functions + first[k], shape.values))
        groups.append(shape.groups + len(feature))
        n_usual = shape.n_groups - shape.n_jumps
        feature += [k] * shape.n_groups
        is_jump += [False] * n_usual + [True] * shape.n_jumps
        expected += [1.0] * n_usual + [_RARE] * shape.n_jumps
        # One more line for rows without a cell: the mean of the other lines, or zeros.
        last, parameters = np.int64(first_cell[k + 1] - 1), intercept + 1 + n_single + np.arange(shape.n_cells)
        if shape.shares.size:
            means = np.bincount(shape.functions, shape.shares[shape.cells] * shape.values, shape.groups.size)
            entries.append((np.full(means.size, last), first[k] + np.arange(means.size), means))
        if shape.shares.size and shape.single_cells:
            entries.append((np.full(shape.n_cells, last), parameters, shape.shares))
        if shape.single_cells:
            single.append(np.arange(shape.n_cells) + first_cell[k])
            single_groups.append(np.full(shape.n_cells, len(feature)))
            n_single += shape.n_cells
            feature.append(k)
            is_jump.append(False)
            expected.append(_RARE if shape.rare_single_cells else 1.0)

    single_cells = np.concatenate(single)
    group = np.concatenate([*groups, [len(feature)], *single_groups]).astype(np.int64)
    entries.append((single_cells, intercept + 1 + np.arange(n_single), np.ones(n_single)))
    cells, at, values = map(np.concatenate, zip(*entries, strict=True))
    basis = csr_array((values, (cells, at)), shape=(int(first_cell[-1]), group.size))

    has_order = any(shape.rising.size > 1 for shape in shapes)
    return Design(
        n_logits=n_logits,
        n_groups=len(feature),
        n_parameters=group.size,
        precision=np.float64 if n_logits * (intercept + 1) ** 2 <= _MOST_IN_DOUBLE else np.float32,
        n_cells=n_cells,
        first_cell=first_cell,
        first_function=first,
        intercept=intercept,
        group=group,
        feature=np.array(feature, dtype=np.int64),
        is_jump=np.array(is_jump, dtype=bool),
        expected=np.array(expected),
        single=single_cells,
        basis=basis,
        transposed=basis.T.tocsr(),
        rising=rising_neighbours(shapes, first_cell, basis[:, : intercept + 1]) if has_order else None,
    )


def rising_neighbours(shapes: Sequence[Shape], first_cell: np.ndarray, basis: csr_array) -> RisingNeighbours:
    """Return the pairs of neighbouring cells of monotone features, over which contributions must not fall.

    Parameters
    ----------
    shapes : basis functions of each feature; ``Shape.rising`` lists the cells in the required order.
    first_cell : (n_features + 1,) first row of each feature in ``basis``.
    basis : sparse matrix (n_cells, intercept + 1) of the values of all basis functions in all cells.
    """
    orders = [shape.rising + begin for shape, begin in zip(shapes, first_cell[:-1], strict=True)]
    lower, upper = (np.concatenate([cells[part] for cells in orders]) for part in (slice(-1), slice(1, None)))
    counted = np.concatenate([np.diff(shape.counted[shape.rising] @ [-1.0, 1.0]) for shape in shapes])
    return RisingNeighbours(lower, upper, counted, (basis[upper] - basis[lower]).toarray())


@dataclass(frozen=True, eq=False)
class EvidenceProblem:
    """Log loss of rows as a function of the deviations of features (fitted corrections of counted contributions), which
    are added to an offset.

    Parameters
    ----------
    chunks : rows of the fit, in chunks. A code of ``shape.n_cells`` stands for no cell: it adds the mean deviation over
        the rows if the shape has ``shares``, otherwise 0.
    shapes : basis functions of each feature.
    design : parameters of all features, and the sparse matrix that maps them to deviations of cells.
    n_classes : number of classes.
    n_rows, total : number and weight of the rows.
    n_informative : number of rows with classes of equal size that would be as informative as these rows.
    expected_variance : prior variance of deviations that is tried first, in squared nats.
    n_jobs : number of threads that sum over chunks of rows; results do not depend on it.
    """

    chunks: Sequence[DesignRows]
    shapes: Sequence[Shape]
    design: Design
    n_classes: int
    n_rows: int
    n_informative: float
    total: float
    expected_variance: float
    n_jobs: int | None

    @classmethod
    def of_rows(
        cls,
        codes: np.ndarray,
        shapes: Sequence[Shape],
        offset: np.ndarray,
        classes: np.ndarray,
        weights: np.ndarray,
        n_jobs: int | None = None,
    ) -> EvidenceProblem:
        """Return the problem of fitting deviations (corrections of counted contributions) to the given rows.

        Parameters
        ----------
        codes : unsigned array, shape (n_features, n_rows), the cell of each row.
        shapes : basis functions of each feature.
        offset : (n_rows, n_classes) log joint by the counted contributions, preferably with each row excluded from its
            own counts.
        classes : (n_rows,) positions of the classes.
        weights : (n_rows,) row weights.
        n_jobs : number of threads.
        """
        n_classes = offset.shape[1]
        n_logits, total = n_logits_of(n_classes), float(weights.sum())
        shares = np.bincount(classes, weights, n_classes) / total
        expected = _EXPECTED_VARIANCE
        if n_logits == 1:
            # Expect smaller deviations if a class is rare, since rows then contain less information about weak
            # features, and if there are many features, since each one then has a smaller effect.
            expected *= 4.0 * float(shares.prod()) * min(1.0, _MANY_FEATURES / max(1, len(shapes)))
        offset = np.diff(offset, axis=1) if n_logits == 1 else offset
        n_cells = np.array([shape.n_cells for shape in shapes], dtype=np.int64)
        if codes.size and (codes.max(axis=1) > n_cells).any():  # kernels do not check codes
            codes = np.minimum(codes, n_cells[:, None].astype(codes.dtype))
        chunks = [
            DesignRows(np.ascontiguousarray(codes[:, batch]), offset[batch], classes[batch], weights[batch])
            for batch in row_slices(classes.size, n_logits)
        ]
        design = build_design(shapes, n_logits)
        n_informative = informative_rows(np.bincount(classes, minlength=n_classes))
        if classes.size * design.n_parameters < _LEAST_IN_THREADS:
            n_jobs = None
        return cls(chunks, shapes, design, n_classes, classes.size, n_informative, total, expected, n_jobs)

    def logits(self, table: np.ndarray, intercept: np.ndarray, rows: DesignRows) -> np.ndarray:
        """Return the logits of rows, shape (n_rows, n_logits): offset + intercept + the deviations (fitted corrections
        of counted contributions) of their cells.

        ``table`` (n_cells, n_logits) holds the deviations of all cells, feature after feature; ``intercept`` has shape
        (n_logits,).
        """
        from bayesieve.evidence._kernels import add_log_probabilities

        logits, design = rows.offset + intercept, self.design
        lines = np.append(table.ravel(), np.zeros(design.n_logits))
        starts = design.first_cell[:-1] * design.n_logits
        add_log_probabilities(rows.codes, 0, design.n_cells, starts, lines, logits)
        return logits

    def logits_and_curvature(
        self, table: np.ndarray, intercept: np.ndarray, rows: DesignRows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the `logits` of rows, and the second derivative of each row's loss by each logit, both (n_rows,
        n_logits).

        ``table`` (n_cells, n_logits) holds the deviations of all cells, ``intercept`` has shape (n_logits,). Second
        derivatives by two different logits are ignored; the factor J / (J - 1) for J classes compensates for them. For
        two classes, this is exact.
        """
        logits = self.logits(table, intercept, rows)
        if self.design.n_logits == 1:
            probability = expit(logits)
            return logits, probability * (1.0 - probability) * rows.weights[:, None]
        probability, factor = softmax(logits, axis=1), self.n_classes / (self.n_classes - 1)
        return logits, probability * (1.0 - probability) * (factor * rows.weights)[:, None]

    def evaluate(self, point: np.ndarray) -> LossAtPoint:
        """Return the log loss of all rows and its gradient, at the parameters ``point`` (n_parameters, n_logits).

        A quadratic penalty is added if contributions of monotone features decrease where they must not.
        """
        design = self.design
        table = design.basis @ point
        loss, sums, of_intercept = self._sum_slopes(table, point[design.intercept], curved=False)
        if design.rising is not None:
            falls, stiffness = design.rising.falls(table), _STIFFNESS * self.total
            loss += 0.5 * stiffness * float(falls @ falls)
            sums[design.rising.upper, 0] += stiffness * falls
            sums[design.rising.lower, 0] -= stiffness * falls
        gradient = design.transposed @ sums
        gradient[design.intercept] = of_intercept
        return LossAtPoint(point, loss, gradient)

    def _sum_slopes(
        self, table: np.ndarray, intercept: np.ndarray, *, curved: bool
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the log loss of all rows in nats, and its gradient by logit: summed over the rows of each cell,
        (n_cells, n_logits), and over all rows, (n_logits,).

        ``table`` (n_cells, n_logits) and ``intercept`` (n_logits,) are the deviations at which the loss is evaluated.
        If ``curved``, return 0 and the sums of second derivatives instead.
        """
        from bayesieve.evidence._kernels import sum_slopes

        first = self.design.first_cell
        sums = [(np.zeros_like(table), np.zeros_like(intercept)) for _ in self.chunks]
        losses = map_in_threads(
            lambda chunk: sum_slopes(chunk[0].codes, first, table, intercept, *chunk[0][1:], curved, *chunk[1]),
            zip(self.chunks, sums, strict=True),
            self.n_jobs,
        )
        of_cells, of_intercept = (reduce(np.add, of_chunks) for of_chunks in zip(*sums, strict=True))
        return float(reduce(np.add, losses)), of_cells, of_intercept

    def slopes(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient and the second derivative of each row's loss by its logits, both (n_rows, n_logits), at
        the parameters ``point`` (n_parameters, n_logits).
        """
        from bayesieve.evidence._kernels import residuals

        gradients, curvatures = [], []
        table = self.design.basis @ point
        for rows in self.chunks:
            logits, curvature = self.logits_and_curvature(table, point[self.design.intercept], rows)
            curvatures.append(curvature)
            residuals(logits, rows.classes, rows.weights)
            gradients.append(logits)
        return np.concatenate(gradients), np.concatenate(curvatures)

    def whole_curvature(self, point: np.ndarray) -> Curvature | None:
        """Return the curvature of the log loss over all rows at the parameters ``point`` (n_parameters, 1); its dense
        matrix includes the coefficients of single cells.

        Return None if there are several logits or so many parameters that it takes too long. The curvature is computed
        from sums over the rows of each pair of cells, which basis functions convert to parameters.
        """
        from bayesieve.evidence._kernels import sum_by_pairs_of_cells

        design, n_cells = self.design, int(self.design.first_cell[-1])
        if design.n_logits > 1 or design.n_parameters > _MOST_WHOLE or n_cells > _MOST_CELLS:
            return None
        table, intercept = design.basis @ point, point[design.intercept]
        of_pairs = np.zeros((n_cells + 1, n_cells + 1))
        for rows in self.chunks:
            _, of_rows = self.logits_and_curvature(table, intercept, rows)
            sum_by_pairs_of_cells(rows.codes, design.first_cell, of_rows[:, 0], of_pairs)
        of_pairs += np.triu(of_pairs, 1).T
        if design.rising is not None:
            falling = design.rising.falls(table) < 0
            lower, upper = design.rising.lower[falling], design.rising.upper[falling]
            for first, second, sign in ((lower, lower, 1), (upper, upper, 1), (lower, upper, -1), (upper, lower, -1)):
                np.add.at(of_pairs, (first, second), sign * _STIFFNESS * self.total)
        of_intercept = csr_array(([1.0], ([0], [design.intercept])), shape=(1, design.n_parameters))
        basis = vstack([design.basis, of_intercept], format="csr")
        dense = basis.T @ (basis.T @ of_pairs).T
        return Curvature(dense[None], np.zeros((0, 1)))

    def curvature(self, point: np.ndarray, sample: CurvatureSample) -> Curvature:
        """Return the curvature of the log loss at the parameters ``point`` (n_parameters, n_logits).

        Matrices for basis functions are estimated from the rows of ``sample``; diagonals for single cells are summed
        over all rows.
        """
        design, rows = self.design, sample.rows
        table, intercept = design.basis @ point, point[design.intercept]
        single = np.zeros((0, design.n_logits))
        if design.single.size:
            single = self._sum_slopes(table, intercept, curved=True)[1][design.single]
        _, of_rows = self.logits_and_curvature(table, intercept, rows)
        return Curvature(self._sum_squares(table, of_rows, sample), single)

    def contrast_curvature(self, point: np.ndarray, sample: CurvatureSample) -> tuple[np.ndarray, np.ndarray]:
        """Return the curvature of the log loss by orthonormal combinations of the logits of several classes, and the
        combinations.

        ``point`` (n_parameters, n_logits) are the parameters, ``sample`` the rows from which the curvature is
        estimated. The first result has the shape of ``Curvature.dense``; the second, (n_logits, n_logits), holds the
        combinations in its columns. Rows that are uncertain between two classes curve the loss along the difference of
        their logits and hardly along their sum, which curvatures by logit cannot express. The combinations are chosen
        so that the mean curvature over the rows is diagonal.
        """
        table = self.design.basis @ point
        logits = self.logits(table, point[self.design.intercept], sample.rows)
        probability, weights = softmax(logits, axis=1), sample.rows.weights[:, None]
        weighted = weights * probability
        contrasts = np.linalg.eigh(np.diag(weighted.sum(axis=0)) - weighted.T @ probability)[1]
        of_rows = weights * np.maximum(probability @ contrasts**2 - (probability @ contrasts) ** 2, 0.0)
        return self._sum_squares(table, of_rows, sample), contrasts

    def _sum_squares(self, table: np.ndarray, of_rows: np.ndarray, sample: CurvatureSample) -> np.ndarray:
        """Return the curvature of the loss by basis functions and the intercept, (n_logits, n, n).

        Parameters
        ----------
        table : (n_cells, n_logits) deviations of all cells, which decide where monotonicity is violated.
        of_rows : (n_rows, n_logits) second derivatives of the sampled rows' losses by their logits, or by combinations
            of logits.
        sample : sampled rows with their design matrix.
        """
        design, (rows, matrix) = self.design, sample
        scale, precision = self.total / float(rows.weights.sum()), design.precision
        dense = np.empty((design.n_logits, *[design.intercept + 1] * 2), dtype=precision)

        def fill(logit: int) -> None:
            """Compute the matrix of one logit."""
            of_class, block = of_rows[:, logit], dense[logit]
            largest = max(
                float(of_class.max()), 1e-300
            )  # scaled, because weights may exceed the range of single precision
            scaled = matrix * np.sqrt(of_class / largest).astype(precision)[:, None]
            np.multiply(scaled.T @ scaled, precision(scale * largest), out=block)
            if design.rising is not None:
                steep = design.rising.by_functions[design.rising.falls(table) < 0]
                block += (_STIFFNESS * self.total * (steep.T @ steep)).astype(precision)

        map_in_threads(fill, range(design.n_logits), self.n_jobs)
        return dense

    def rows_of_cells(self) -> np.ndarray:
        """Return the number (or weight) of the rows in each cell, feature after feature, shape (total number of
        cells,).
        """
        from bayesieve.evidence._kernels import sum_by_level

        first, n_cells = self.design.first_cell, self.design.n_cells
        sums = [np.zeros(int(first[-1]) + 1) for _ in self.chunks]
        map_in_threads(
            lambda chunk: sum_by_level(chunk[0].codes, 0, n_cells, first[:-1], chunk[0].weights[:, None], chunk[1]),
            zip(self.chunks, sums, strict=True),
            self.n_jobs,
        )
        return np.asarray(reduce(np.add, sums)[:-1])

    def row_hashes(self) -> np.ndarray:
        """Return a hash of the codes of each row, shape (n_rows,).

        Hashes depend neither on the order of rows and features nor on the scale of weights.
        """
        # Identify features by the shares of their cells, rounded because the last digits depend on the order of sums.
        shares = np.round(self.rows_of_cells() / self.total, _DIGITS_OF_SHARES) + 0.0  # turns -0.0 into 0.0
        of_cells, last = mixed(shares.view(np.uint64)), self.design.first_cell[1:] - 1
        of_cells[last[[not shape.shares.size for shape in self.shapes]]] = 0  # every row has a cell
        salts = np.add.reduceat(of_cells, self.design.first_cell[:-1])
        hashes = map_in_threads(
            lambda c: hash_codes(c.codes, np.zeros(c.classes.size), salts=salts), self.chunks, self.n_jobs
        )
        return np.concatenate(hashes)

    def draw_sample(self) -> CurvatureSample:
        """Return a sample of the rows, drawn by hashes of their contents, with its design matrix, for computing
        curvatures.
        """
        from bayesieve.evidence._kernels import fill_design

        design, rows = self.design, np.arange(self.n_rows)
        if rows.size > _CURVATURE_ROWS:
            rows = draw_by_content(self.row_hashes(), _CURVATURE_ROWS)
        ends = np.cumsum([chunk.classes.size for chunk in self.chunks])
        of_chunks = np.split(rows, np.searchsorted(rows, ends[:-1]))
        picked = [positions - start for positions, start in zip(of_chunks, np.append(0, ends[:-1]), strict=True)]
        pairs = list(zip(self.chunks, picked, strict=True))
        sampled = DesignRows(
            np.concatenate([np.ascontiguousarray(chunk.codes[:, at]) for chunk, at in pairs], axis=1),
            *(np.concatenate([chunk[i][at] for chunk, at in pairs]) for i in (1, 2, 3)),
        )
        matrix = np.zeros((rows.size, design.intercept + 1), dtype=design.precision)
        basis = design.basis
        entries = basis.indptr, basis.indices, basis.data
        fill_design(sampled.codes, design.first_cell, *entries, matrix[:, :-1])
        matrix[:, -1] = 1.0
        return CurvatureSample(sampled, matrix)

    def narrowed(
        self, kept_groups: np.ndarray, sample: CurvatureSample
    ) -> tuple[EvidenceProblem, CurvatureSample, np.ndarray]:
        """Drop groups of coefficients, and return the smaller problem, the sample for it, and a mask (n_parameters,) of
        the remaining parameters.

        Parameters
        ----------
        kept_groups : (n_groups,) mask of the groups that remain; a group shares a prior variance.
        sample : sample of rows with the design matrix of this problem.
        """
        design = self.design
        is_kept = np.append(kept_groups, True)[design.group]
        if kept_groups.all():
            return self, sample, is_kept
        shapes, stays, single = [], [], design.intercept + 1
        for k, shape in enumerate(self.shapes):
            single_cells = bool(shape.single_cells and is_kept[single])
            single += shape.n_cells if shape.single_cells else 0
            functions = is_kept[design.first_function[k] : design.first_function[k + 1]]
            if not single_cells and not functions.any():
                continue
            stays.append(k)
            # Keep the entries of the remaining basis functions, and renumber functions and groups.
            entries, number = functions[shape.functions], np.cumsum(functions) - 1
            groups, group = np.unique(shape.groups[functions], return_inverse=True)
            shapes.append(
                replace(
                    shape,
                    groups=group,
                    cells=shape.cells[entries],
                    functions=number[shape.functions[entries]],
                    values=shape.values[entries],
                    single_cells=single_cells,
                    n_groups=groups.size,
                    n_jumps=int(np.count_nonzero(groups >= shape.n_groups - shape.n_jumps)),
                )
            )
        chunks, rows = self.chunks, sample.rows
        if len(stays) < len(self.shapes):
            chunks = [chunk._replace(codes=chunk.codes[stays]) for chunk in chunks]
            rows = rows._replace(codes=rows.codes[stays])
        fewer = replace(self, chunks=chunks, shapes=shapes, design=build_design(shapes, design.n_logits))
        matrix = np.compress(is_kept[: design.intercept + 1], sample.matrix, axis=1)
        return fewer, CurvatureSample(rows, matrix), is_kept

    def restricted_to(self, masks: Sequence[np.ndarray]) -> EvidenceProblem:
        """Return the problem restricted to the rows marked in ``masks``, one mask (n_rows of the chunk,) for each
        chunk. The total weight stays unchanged.
        """
        chunks = [
            DesignRows(np.compress(mask, rows.codes, axis=1), rows.offset[mask], rows.classes[mask], rows.weights[mask])
            for rows, mask in zip(self.chunks, masks, strict=True)
        ]
        return replace(self, chunks=chunks)

    def deviations(self, point: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Convert parameters ``point`` (n_parameters, n_logits) to the deviations (corrections of counted
        contributions) of each feature, (n_cells, n_classes), and of the intercept, (n_classes,), in nats.
        """
        cells, intercept = self.design.basis @ point, point[self.design.intercept]
        if self.design.n_logits == 1:
            cells, intercept = cells * SIDES, intercept * SIDES
        tables = np.split(cells, self.design.first_cell[1:-1]) if self.shapes else []
        return [table[: shape.n_cells] for table, shape in zip(tables, self.shapes, strict=True)], intercept


@dataclass(frozen=True)
class CovarianceRoot:
    """Square root of the posterior covariance (inverse curvature of the penalised loss), separately for each logit.

    It scales the steps of the optimiser and gives standard errors.

    Parameters
    ----------
    priors : (n_parameters,) prior variances of the parameters.
    dense : (n_logits, n, n) roots of the inverse curvature matrices of the n basis functions and the intercept.
    single : (n_single, n_logits) roots of the inverse curvatures of single cells.
    effective : (n_parameters,) effective number of each parameter: the degree to which the rows determine it, from 0 to
        1, summed over logits.
    contrasts : (n_logits, n_logits) orthonormal combinations of logits in columns, to which ``dense`` refers; None if
        it refers to the logits themselves.
    """

    priors: np.ndarray
    dense: np.ndarray
    single: np.ndarray
    effective: np.ndarray
    contrasts: np.ndarray | None = None

    def apply(self, values: np.ndarray, transposed: bool = False) -> np.ndarray:
        """Multiply values (n_parameters, n_logits) by the square root of the posterior covariance or, if
        ``transposed``, by its transpose.

        The product maps steps in units of standard errors to parameters, and its transpose maps gradients to these
        units.
        """
        n = self.dense.shape[1]
        steps = self.dense.transpose(0, 2, 1) if transposed else self.dense
        dense = values[:n]
        if self.contrasts is not None and transposed:
            dense = dense @ self.contrasts
        dense = np.matmul(steps, dense.T[:, :, None].astype(steps.dtype))[:, :, 0].T
        if self.contrasts is not None and not transposed:
            dense = dense @ self.contrasts.T
        return np.concatenate([dense, values[n:] * self.single])


def laplace_covariance_root(design: Design, curvature: Curvature, variances: np.ndarray) -> CovarianceRoot:
    """Return the square root of the posterior covariance by the Laplace approximation: the inverse curvature of loss
    plus normal priors, separately for each logit.

    Parameters
    ----------
    design : parameters of all features, with their groups.
    curvature : second derivatives of the log loss by the parameters.
    variances : (n_groups,) prior variances of contributions to the classes, in squared nats.
    """
    scale = logit_scale(design.n_logits)
    priors = np.append(variances, _INTERCEPT_VARIANCE)[design.group] / scale.square
    n_dense = curvature.dense.shape[1]
    spread, of_single = np.sqrt(priors[:n_dense]).astype(curvature.dense.dtype), priors[n_dense:, None]
    steps, effective = np.empty_like(curvature.dense), np.zeros(n_dense)
    diagonal = np.diag_indices(n_dense)
    factorized, inverted = get_lapack_funcs(("potrf", "trtri"), (curvature.dense,))
    for of_loss, step in zip(curvature.dense, steps, strict=True):
        # Invert the lower Cholesky factor, in place. If rounding made the matrix indefinite, raise its diagonal.
        for share in (0.0, 1e-5, 1e-3):
            # In units of the prior deviations all eigenvalues are at least 1, so that the inversion is well
            # conditioned.
            np.multiply(of_loss, spread, out=step)
            step *= spread[:, None]
            of_parameters = step[diagonal] + 1.0
            step[diagonal] = of_parameters * (1.0 + share)
            factor, failed = factorized(step.T, lower=1, clean=1, overwrite_a=1)
            if not failed:
                root = np.asarray(inverted(factor, lower=1, overwrite_c=1)[0])
                break
        else:
            root = np.diag(1.0 / np.sqrt(of_parameters))
        effective += 1.0 - (root * root).sum(axis=0, dtype=float)
        np.multiply(root.T, spread[:, None], out=step)
    by_rows = of_single * curvature.single
    effective = np.concatenate([effective, (by_rows / (1.0 + by_rows)).sum(axis=1)])
    return CovarianceRoot(priors, steps, np.sqrt(of_single / (1.0 + by_rows)), effective * scale.share)


class Stop(NamedTuple):
    """Stopping rule of `find_mode`.

    Attributes
    ----------
    max_steps : largest number of steps.
    tolerance : accepted distance of every parameter from its optimum, in standard errors.
    settle : whether to continue with Newton steps after the line search has ended.
    """

    max_steps: int
    tolerance: float
    settle: bool = False


def find_mode(
    problem: EvidenceProblem,
    start: LossAtPoint,
    covariance_root: CovarianceRoot,
    stop: Stop,
) -> LossAtPoint:
    """Minimise the penalised loss from a starting point by L-BFGS, scaled by the posterior covariance. Return the
    optimum with its loss and gradient.

    Parameters
    ----------
    problem : loss to minimise.
    start : starting point with its loss.
    covariance_root : root of the posterior covariance at the starting point or near it; its prior variances define the
        penalty.
    stop : stopping rule.
    """
    point, last, last_flat = start.point, start, np.zeros(start.point.size)

    def evaluated(flat: np.ndarray) -> LossAtPoint:
        """Return the loss at a step ``flat`` from the starting point, in standard errors; the last result is cached."""
        nonlocal last, last_flat
        if not np.array_equal(flat, last_flat):  # the first point is that of the start
            last, last_flat = problem.evaluate(point + covariance_root.apply(flat.reshape(point.shape))), flat.copy()
        return last

    def penalised(flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalised loss at a step ``flat`` from the starting point, in standard errors, and its
        gradient.
        """
        at, loss, slopes = evaluated(flat)
        push = at / covariance_root.priors[:, None]
        gradient = covariance_root.apply(slopes + push, transposed=True).ravel()
        return loss + 0.5 * float((push * at).sum()), gradient

    options = {"maxiter": stop.max_steps, "ftol": 0.0, "gtol": stop.tolerance}
    best = minimize(penalised, np.zeros(point.size), jac=True, method="L-BFGS-B", options=options)
    flat, gradient, share = best.x, best.jac, 1.0
    # Settle: rounding hides the last digits of the loss from the line search, but not those of the gradient.
    for _ in range(_SETTLING_STEPS if stop.settle else 0):
        if np.abs(gradient).max() <= stop.tolerance:
            break
        following = flat - share * (best.hess_inv @ gradient)
        _, slopes = penalised(following)
        if slopes @ slopes < gradient @ gradient:
            flat, gradient = following, slopes
        else:
            share /= 2.0
    return evaluated(flat)


@dataclass(frozen=True)
class PosteriorErrors:
    """Posterior covariance of the deviations (fitted corrections of counted contributions), centred over the rows, as
    variances and factors that features share.

    Parameters
    ----------
    variances : for each feature, (n_cells, n_logits) posterior variances, in squared nats.
    left : for each feature, (n_cells, n_logits) share of the prior variance that remains: 0 if the rows determine the
        deviation, 1 if they contain no information about it.
    factors : for each feature, (n_cells, n_logits, n_factors) loadings on factors that features share, in nats. The
        error of a row's logit is the sum of the loadings of its cells and of ``intercept``, each times its factor, plus
        independent errors with the remaining variance.
    intercept : (n_logits, n_factors) loadings of the intercept, in nats.
    """

    variances: Sequence[np.ndarray]
    left: Sequence[np.ndarray]
    factors: Sequence[np.ndarray]
    intercept: np.ndarray


def posterior_errors(
    problem: EvidenceProblem, covariance_root: CovarianceRoot, parameters: np.ndarray, matrix: np.ndarray
) -> PosteriorErrors:
    """Return the posterior variances of the deviations (fitted corrections of counted contributions), centred over the
    rows, and the factors that their errors share.

    Parameters
    ----------
    problem : the problem with all groups of coefficients; dropped groups add no error.
    covariance_root : root of the posterior covariance of the parameters that were not dropped.
    parameters : positions of these parameters in the problem.
    matrix : (n_sampled_rows, n) design matrix of a sample of rows, for the basis functions among ``parameters`` and the
        intercept.
    """
    design, n = problem.design, covariance_root.dense.shape[1] - 1
    rows, priors = problem.rows_of_cells(), covariance_root.priors
    single = np.zeros((2, int(design.first_cell[-1]), design.n_logits))  # posterior and prior variances
    at = design.single[parameters[n + 1 :] - design.intercept - 1]
    single[:, at] = np.stack(
        [covariance_root.single**2, np.broadcast_to(priors[n + 1 :, None], covariance_root.single.shape)]
    )
    # Factors that features share: for each logit, the main principal components of the posterior errors of predicted
    # logits over the sampled rows, by subspace iteration.
    of_logits = []
    for steps in covariance_root.dense:
        directions = np.random.default_rng(0).normal(size=(n + 1, min(N_FACTORS, n + 1))).astype(steps.dtype)
        for _ in range(_POWERS):
            directions = qr(steps.T @ (matrix.T @ (matrix @ (steps @ directions))), mode="economic")[0]
        of_logits.append(directions)
    main = np.stack(of_logits).astype(float)

    intercept = np.matmul(covariance_root.dense[:, n:], main)[:, 0].astype(float)
    variances, left, factors = [], [], []
    of_function = np.searchsorted(design.first_function, parameters[:n], side="right") - 1
    for k, shape in enumerate(problem.shapes):
        cells = slice(int(design.first_cell[k]), int(design.first_cell[k]) + shape.n_cells)
        functions = np.flatnonzero(of_function == k)
        basis = design.basis[cells, :][:, parameters[functions]].toarray()
        mean = (rows[cells] / max(float(rows[cells].sum()), 1e-300)) @ basis
        basis -= mean
        steps = covariance_root.dense[:, functions].astype(float)
        roots = np.matmul(basis, steps)
        posterior, prior = single[:, cells].copy()
        posterior += (roots**2).sum(axis=2).T
        prior += (basis**2 @ priors[functions])[:, None]
        variances.append(posterior)
        left.append(np.divide(posterior, prior, out=np.ones_like(prior), where=prior > 0).clip(0.0, 1.0))
        factors.append(np.round(np.matmul(roots, main).transpose(1, 0, 2), _DIGITS))
        intercept += np.matmul(np.matmul(mean, steps)[:, None], main)[:, 0]
    return PosteriorErrors(variances, left, factors, np.round(intercept, _DIGITS))


def class_variances(variances: np.ndarray, n_classes: int) -> np.ndarray:
    """Convert variances of logits, (n_cells, n_logits), to variances (n_cells, n_classes) of contributions that are
    centred over the classes.
    """
    if variances.shape[1] == 1:  # the logit is the second class minus the first
        return np.repeat(variances / 4.0, n_classes, axis=1)
    share = 1.0 / n_classes
    return (1.0 - share) ** 2 * variances + share**2 * (variances.sum(axis=1, keepdims=True) - variances)
