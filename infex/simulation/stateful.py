"""Many runs in one compiled call, of what keeps notes or pulls, looks at controls, or is no ridge."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence

import numpy as np

from infex.arrays import Floats, Integers
from infex.environments import LinearInstance
from infex.errors import InvalidChoice, InvalidReward
from infex.kernels import bases, choosing, gating
from infex.kernels.calling import address_of, arguments, throw
from infex.kernels.fixed_runs import Rule
from infex.kernels.stateful_runs import Deciding, Fitting, Learning, play_stateful_batch
from infex.linear.estimating import FitForm
from infex.policies import UCB1, Policy
from infex.policies.form import NO_SETTINGS, ControlsForm, Form
from infex.simulation import batch
from infex.simulation.batch import Task, gathered, generators_of, scratch, wrong
from infex.simulation.course import Course, course_of, exploring_rounds
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run

NO_CONTROLS = ControlsForm((), 1, 0)


def play_stateful(
    tasks: Sequence[Task],
    policy: Policy,
    label: str,
    course: Course,
    horizon: int,
    penalty: float,
    record: bool,
) -> list[Run]:
    """The runs of tasks whose problems have one shape and one law, as `batch.play_batch` gives them."""
    compile_stateful()
    if not batch.THREAD_GENERATORS.policy.known and len(tasks) > 1:
        return [play_stateful([task], policy, label, course, horizon, penalty, record)[0] for task in tasks]
    ledger = Ledger(len(tasks), len(tasks[0][0].arms), horizon, record)
    setup = Setup(tasks, course, penalty, horizon)
    begun = time.perf_counter()
    _play(tasks, label, setup, ledger)
    times = ledger.seconds(time.perf_counter() - begun)
    return [ledger.run(row, instance, policy, seed, times[row]) for row, (instance, seed) in enumerate(tasks)]


@functools.cache
def compile_stateful() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    tasks = [(LinearInstance(np.ones((1, 1)), np.zeros(1)), 0)]
    course = course_of(UCB1())
    assert course is not None
    _play(tasks, "", Setup(tasks, course, 1.0, 2), Ledger(1, 1, 2, record=False))


class Setup:
    """All that a compiled call needs, with room for one run after the other."""

    def __init__(self, tasks: Sequence[Task], course: Course, penalty: float, horizon: int) -> None:
        instance, form, fit = tasks[0][0], course.form, course.fit
        self.course = course
        self.penalty = penalty if fit is None or fit.penalty is None else fit.penalty
        self.learning = self._learning(instance, horizon)
        self.own = self._learning(instance, horizon) if form.own or form.apart else self.learning
        if reads_no_board(course):
            ridge = self.learning.ridge._replace(board=np.zeros((4, 0)))  # so nobody keeps it up
            self.learning = self.learning._replace(ridge=ridge)
        self.deciding = deciding_of(course, *instance.arms.T.shape)
        fitter, settings = (0, NO_SETTINGS) if fit is None else (fit.fitter, fit.settings)
        self.fitting = Fitting(fitter, settings, np.zeros(0))
        controls = form.controls or NO_CONTROLS
        self.spending = gating.Spending(
            np.zeros(gating.STOPPED + len(controls.rows)), np.zeros((2, min(controls.span, horizon)))
        )

    def _learning(self, instance: LinearInstance, horizon: int) -> Learning:
        arms, dim = instance.arms.shape
        fit = self.course.fit
        memory = np.zeros(0 if fit is None else fit.room(dim, arms, horizon))
        return Learning(scratch(instance, self.penalty), np.zeros((2, arms)), memory)

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
    """Does nothing in it read scores or widths of a ridge?"""
    form = course.form
    greedy = form.schedule is not None or form.wrap.kind == choosing.GREEDY_FIRST
    return form.base.reads == bases.READS_NOTHING and not greedy and course.fit is None


def deciding_of(course: Course, dim: int, arms: int) -> Deciding:
    """What decides, with room for its notes."""
    form, room = course.form, room_of(course.form, dim, arms)
    linked = course.fit is not None and course.fit.linked
    return Deciding(
        chooser_of(form), form.learner, settings_of(form, linked), np.zeros(room), np.zeros(room),
        np.zeros(1), form.base.reads == bases.READS_WIDTHS, form.own or form.apart, form.own, not form.own,
        linked,
    )  # fmt: skip


def weights_of(fit: FitForm | None, problems: list[LinearInstance]) -> Floats:
    """The weight of every arm's rewards in each problem; none for ridge."""
    if fit is None:
        return np.zeros((len(problems), 0))
    if fit.weigh is None:
        return np.ones((len(problems), len(problems[0].arms)))
    return np.array([fit.weigh(problem.arms.T) for problem in problems])


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


def room_of(form: Form, dim: int, arms: int) -> int:
    """How many numbers it notes."""
    if form.room is not None:
        return form.room(dim, arms)
    keeps = form.base.kind == bases.SWITCHING or form.wrap.kind == choosing.GREEDY_FIRST
    return choosing.NOTE_ROOM + dim if keeps else 0


def _play(tasks: Sequence[Task], label: str, setup: Setup, ledger: Ledger) -> None:
    instance = tasks[0][0]
    problems = list(dict.fromkeys(instance for instance, _ in tasks))
    (which, arrays), weights = gathered(tasks), weights_of(setup.course.fit, problems)
    generators = generators_of(tasks, label, alone=ledger.horizon > batch.CHUNK)
    for t in range(1, ledger.horizon + 1, batch.CHUNK):
        end = min(t + batch.CHUNK - 1, ledger.horizon)
        try:
            fault = play_stateful_batch(
                t, end, setup.rule(t, end), setup.deciding, setup.fitting, setup.controls(t, end),
                setup.spending, setup.learning, setup.own, instance.law.kind, instance.noise, which,
                *arrays, weights, generators.handed, generators.memory, generators.starts,
                ledger.checkpoints, ledger.curves, ledger.tallies, ledger.counts, ledger.arms,
                ledger.rewards, ledger.losses, ledger.volumes, ledger.times,
            )  # fmt: skip
        except bases.NoSuchArm as error:
            raise InvalidChoice(wrong(setup.course, len(instance.arms), *error.args)) from None
        except InvalidReward as error:  # where kernels are plain Python
            raise _in_words(error) from None
        if fault:
            _raise(fault)


def _raise(fault: int) -> None:
    try:
        throw(fault)
    except InvalidReward as error:
        raise _in_words(error) from None


def _in_words(error: InvalidReward) -> InvalidReward:
    return InvalidReward(" ".join(map(str, error.args)))
