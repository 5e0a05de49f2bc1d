"""All that the loop of `kernels.stateful_runs` needs of a policy, an estimator and a problem."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.environments.lateness import NEVER
from infex.kernels import bases, choosing, gating
from infex.kernels.calling import address_of, arguments
from infex.kernels.layout import blank
from infex.kernels.outlook import outlook
from infex.kernels.round_parts import NO_SEARCH, Deciding, Fitting, Learning, room_of
from infex.kernels.run_arrays import Rule, State
from infex.kernels.world import Post
from infex.linear.estimating import FitForm
from infex.linear.regression import checked_penalty
from infex.policies.form import NO_SETTINGS, ControlsForm, Form
from infex.simulation.course import Course, exploring_rounds

NO_CONTROLS = ControlsForm((), 1, 0)
SAMPLED = (bases.LINTS, bases.LINTS_SPHERICAL, bases.HYBRID)


class Shape(NamedTuple):
    """The shape of a problem: features, arms, and whether these are drawn anew in every round."""

    dim: int
    arms: int
    changing: bool = False


class Setup:
    """All that a compiled call needs, with room for one run after the other; with rewards that are late too.

    `columns` are the arms, (d, K), if a loop does not set them itself.
    """

    def __init__(
        self,
        shape: Shape,
        course: Course,
        penalty: float,
        horizon: int,
        columns: Floats | None = None,
        late: bool = False,
    ) -> None:
        form, fit = course.form, course.fit
        self.course, self._shape, self._horizon = course, shape, horizon
        self.penalty = checked_penalty(penalty if fit is None or fit.penalty is None else fit.penalty)
        self._columns = np.zeros((shape.dim, 0)) if columns is None else columns
        self._searches = late and fit is not None and fit.search_at is not None
        self.learning = self._learning()
        self.own = self._learning() if form.own or form.apart else self.learning
        if reads_no_board(course):
            ridge = self.learning.ridge._replace(board=np.zeros((4, 0)))  # so nobody keeps it up
            self.learning = self.learning._replace(ridge=ridge)
        self.deciding = deciding_of(course, shape)
        self.room = room_of(*shape)
        controls = form.controls or NO_CONTROLS
        self.spending = gating.Spending(
            np.zeros(gating.STOPPED + len(controls.rows)), np.zeros((2, min(controls.span, horizon)))
        )

    def _learning(self) -> Learning:
        dim, arms, changing = self._shape
        fit, kernel = self.course.fit, self.course.form.base.kind == bases.KERNEL
        truth, solved, board, vectors, run = blank(dim, 0 if changing else arms)
        ridge = State(truth, solved, self._columns, board, vectors, run, self.penalty)
        rows = self._horizon if changing else arms  # of different x
        memory = np.zeros(0 if fit is None else fit.room(dim, rows, self._horizon))
        counted = arms if not changing else 0 if kernel else 1
        return Learning(ridge, np.zeros((2, counted)), memory, np.zeros(dim if self._searches else 0))

    def fitting(self, weights: Floats) -> Fitting:
        """The estimator, with the weight of every arm's rewards; none for ridge."""
        fit = self.course.fit
        if fit is None:
            return Fitting(0, NO_SETTINGS, weights, NO_SEARCH)
        return Fitting(
            fit.fitter, fit.settings, weights, NO_SEARCH if fit.search_at is None else fit.search_at
        )

    def rule(self, t: int, end: int) -> Rule:
        """Which of these rounds are due."""
        form = self.course.form
        return Rule(self.course.exploring(t, end), form.schedule is None, form.own, form.random_ties)

    def controls(self, t: int, end: int) -> gating.Controls:
        """The controls in these rounds."""
        controls = self.course.form.controls or NO_CONTROLS
        table = np.zeros((len(controls.rows), gating.CONTROL_COLUMNS))
        pauses: Integers = np.zeros(0, dtype=np.int64)
        for place, row in enumerate(controls.rows):
            first = pauses.size
            pauses = np.concatenate((pauses, exploring_rounds(row.pauses, t, end)))
            table[place] = *row[:-1], first, pauses.size
        return gating.Controls(table, pauses, controls.spacing)


def reads_no_board(course: Course) -> bool:
    """Does nothing in it read scores or widths of a ridge of all rounds?"""
    form = course.form
    unread = form.apart or read_of(form) == bases.READS_NOTHING
    return unread and form.schedule is None and course.fit is None


def read_of(form: Form) -> int:
    """How much of the board the chooser reads, with what stands around its base."""
    greedy = form.wrap.kind in (choosing.GREEDY_FIRST, choosing.COMMITS)
    return max(form.base.reads, bases.READS_SCORES) if greedy else form.base.reads


def deciding_of(course: Course, shape: Shape) -> Deciding:
    """What decides, with room for its notes."""
    form, room = course.form, notes_of(course.form, shape.dim, shape.arms)
    linked = course.fit is not None and course.fit.linked
    shown = np.zeros((shape.dim, shape.arms) if shape.changing and form.learner != 0 else (0, 0))
    reads_factor = form.base.reads == bases.READS_WIDTHS or form.base.kind in SAMPLED
    return Deciding(
        chooser_of(form), form.learner, settings_of(form, linked), np.zeros(room), np.zeros(room),
        np.zeros(1), shown, read_of(form), reads_factor, form.own or form.apart, form.own, not form.own,
        linked,
    )  # fmt: skip


def weights_of(fit: FitForm | None, columns: Floats) -> Floats:
    """The weight of rewards of each arm in `columns`, (d, K); none for ridge."""
    if fit is None:
        return np.zeros(0)
    return np.ones(columns.shape[1]) if fit.weigh is None else np.array(fit.weigh(columns))


@functools.cache
def built_in_chooser() -> object:
    """The address of the chooser of infex's own policies."""
    return address_of(choosing.choose_built_in, arguments(built_in=True))


def chooser_of(form: Form) -> object:
    """The address of what decides: a user's kernel, or the one that plays all built-in policies."""
    return form.base.address if form.base.kind == bases.KERNEL else built_in_chooser()


def settings_of(form: Form, linked: bool) -> Floats:
    """What the chooser reads."""
    if form.base.kind == bases.KERNEL:
        return form.settings
    base, wrap = form.base, form.wrap
    numbers = base.noise, base.bound, base.delta, base.scale, base.rate, base.bonus
    wrapped = wrap.kind, wrap.first, wrap.second, wrap.random_ties
    return np.array([base.kind, *numbers, base.random_ties, *wrapped, linked], dtype=np.float64)


def notes_of(form: Form, dim: int, arms: int) -> int:
    """How many numbers it notes."""
    if form.room is not None:
        return form.room(dim, arms)
    keeps = form.base.kind == bases.SWITCHING or form.wrap.kind == choosing.GREEDY_FIRST
    return choosing.NOTE_ROOM + dim if keeps else 0


def _arrivals(delays: Integers) -> tuple[Integers, Integers]:
    """The rounds whose rewards come, in the order of arrival, and the rounds after which they are there."""
    told = np.flatnonzero(delays != NEVER)
    order = np.argsort(told + 1 + delays[told], kind="stable")
    return told[order], told[order] + 1 + delays[told[order]]


@functools.cache
def no_post() -> Post:
    """Nothing is ever on its way."""
    none: Integers = np.zeros(0, dtype=np.int64)
    never: Bools = np.zeros(0, dtype=np.bool_)
    return Post(
        none, none, np.zeros(1, np.int64), none, np.zeros(0), never, np.zeros((0, 0)), np.zeros(0),
        outlook(0, 0),
    )  # fmt: skip


def post_of(delays: Integers | None, shape: Shape, narrows: bool, linked: bool) -> Post:
    """Room for rewards on their way, in the order in which they arrive; none where all come at once.

    `narrows`: do exploring rounds look at them? Where scores are `linked`, each then has a weight of its own.
    """
    if delays is None:
        return no_post()
    horizon, changing = delays.size, shape.changing
    told, arrival = _arrivals(delays)
    if not told.size:
        told, arrival = np.zeros(1, np.int64), np.array([horizon + 1])  # one that never arrives
    return Post(
        told,
        arrival,
        np.zeros(1, dtype=np.int64),
        np.zeros(horizon, dtype=np.int64),
        np.zeros(horizon),
        np.zeros(horizon, dtype=np.bool_),
        np.zeros((horizon, shape.dim if changing else 0)),
        np.zeros(horizon if linked else 0),
        outlook(shape.dim, 0 if changing else shape.arms) if narrows else outlook(0, 0),
    )
