"""Runs on problems of every kind by the general loop of `infex.core.general`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from infex.arrays import Floats
from infex.core.choosing import Reads
from infex.core.estimators import Fit
from infex.core.general import GeneralRun
from infex.core.ridge import Ridge
from infex.core.runs import Law
from infex.environments import Instance, LinearInstance, Stretch
from infex.environments.lateness import checked_late
from infex.environments.reward_laws import RewardSource
from infex.kernels import bases, rewards
from infex.linear.estimating import FitForm
from infex.linear.regression import checked_penalty
from infex.policies.form import ControlsForm
from infex.simulation import batch
from infex.simulation.batch import KINDS, base_of, read_of, run_of
from infex.simulation.course import Course, exploring_rounds
from infex.simulation.run import Run, log_spaced
from infex.simulation.terms import RunTerms
from infex.streams import stream

NO_CONTROLS = ControlsForm((), 1, 0)
READ_PULLS = (bases.PLAIN_UCB, bases.GAUSSIAN_TS, bases.PLAIN_HYBRID)


def can_play(course: Course | None, instance: Instance) -> bool:
    """Can the loop play it? It calls no user's code, and arms that change have no pulls."""
    if course is None or course.form.base.kind not in KINDS:
        return False
    if course.fit is not None and (course.fit.make is None or is_weighed_anew(course.fit, instance)):
        return False
    if course.form.room is not None or instance.law.kind == rewards.OWN:
        return False
    return instance.standing is not None or course.form.base.kind not in READ_PULLS


def is_weighed_anew(fit: FitForm, instance: Instance) -> bool:
    """Does a user weigh arms that change?"""
    return fit.weigh is not None and instance.standing is None


def play_general(
    instance: Instance,
    seed: int,
    terms: RunTerms,
    course: Course,
    narrows: bool = True,
    learnt: Floats | None = None,
) -> Run:
    """One run; it begins with the sums of what was `learnt` before, but for a base that keeps own data."""
    form, late, standing = course.form, checked_late(instance.late), instance.standing
    penalty, controls, fit = terms.penalty, form.controls or NO_CONTROLS, course.fit
    penalty = checked_penalty(penalty if fit is None or fit.penalty is None else fit.penalty)
    columns = np.zeros((instance.dim, instance.count)) if standing is None else standing.T
    reads, always = read_of(form), form.schedule is None
    scored = standing is not None and not (always and (form.apart or reads == Reads.READS_NOTHING))
    rows = terms.horizon if standing is None else instance.count  # different rows that are learnt on
    fits: list[Fit | None] = [None, None]  # of all rounds, and of exploring ones
    if fit is not None and fit.make is not None:
        for side in range(1 + (form.own or form.apart)):
            fits[side] = fit.make(instance.dim, penalty, rows, terms.horizon)
    begun = time.perf_counter()
    run = GeneralRun(
        Ridge(columns, penalty, learnt, scored),
        base_of(form),
        Law(instance.law.kind),
        instance.law.noises,
        RewardSource(instance.law, seed, instance.key).generator,
        stream(seed, "policy", terms.label, instance.key),
        terms.horizon,
        log_spaced(terms.horizon),
        changing=standing is None,
        apart=Ridge(columns, penalty, None, standing is not None) if form.own or form.apart else None,
        own_clock=form.own,
        fits=fits,
        weights=None if fit is None or fit.weigh is None else fit.weigh(columns),
        linked=fit is not None and fit.linked,
        always=always,
        random_ties=form.random_ties,
        degrees=instance.law.degrees,
        controls=[row[:-1] for row in controls.rows],
        spacing=controls.spacing,
        span=controls.span,
        delays=None if late is None else late.delays(seed, instance.key, terms.horizon),
        narrows=narrows,
        steady=is_steady(instance),
        record=terms.record,
    )
    for first, last, ends, means, blocks in stretches(instance, seed, terms.horizon):
        pauses = [exploring_rounds(row.pauses, first, last) for row in controls.rows]
        run.play(first, last, course.exploring(first, last), ends, means, blocks, pauses)
    return run_of(run, instance, seed, terms, time.perf_counter() - begun)


def is_steady(instance: Instance) -> bool:
    """Do all means stay as they are, and rewards come at once?"""
    return isinstance(instance, LinearInstance) and instance.is_plain


def stretches(instance: Any, seed: int, horizon: int) -> Iterator[Stretch]:
    """All rounds, some at a time, with their means and arms."""
    if not is_steady(instance):
        yield from instance.stretches(seed, horizon)
        return
    for first in range(1, horizon + 1, batch.CHUNK):
        last = min(first + batch.CHUNK - 1, horizon)
        yield Stretch(first, last, np.array([last]), instance.means[None, :])
