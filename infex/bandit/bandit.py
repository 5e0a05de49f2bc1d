"""Ask and tell: a bandit for use.

A decision is taken in two steps. `_decide` is pure: it reads the posterior of the arms on offer, lets the
policy choose, and puts all that was decided into one `DecisionRecord`. `_apply` is the only change: rounds,
explorations and limits are counted, the policy's state is kept, and the decision waits for its reward. `ask`
is the one after the other; `ask_many` does it n times; a log is written in between; `decide` and `enter` are
the two by themselves, for journals, whose replay applies what was written.
"""

from __future__ import annotations

import contextlib
import copy
import os
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools, Floats, Integers, Label, fitting_rows, is_masked, shown
from infex.bandit import archive
from infex.bandit.agent import Agent, Step
from infex.bandit.arms import (
    MOST_AT_ONCE,
    NOTHING_ASKED,
    BatchRules,
    Changing,
    Fixed,
    Labels,
    Mapped,
    Request,
    arms_of,
    may_explore,
    offered_mask,
)
from infex.bandit.decision import Decision, DecisionRecord, Decisions
from infex.bandit.exploration import Exploration, warn_if_underexplored
from infex.bandit.ids import Ids
from infex.bandit.intervals import NoiseIntervals, checked_level
from infex.bandit.logger import DecisionLogger, arm_count, header_of, request_behind, row_of
from infex.bandit.pending import Pending, PendingEntry
from infex.bandit.persistence import Parts, no_pulls, taught_of
from infex.bandit.prior import Prior
from infex.bandit.replication import Changes, Replication, new_deltas, shape_of
from infex.bandit.reshape import ArmsRemoved, FeaturesAdded, Reshaping, extended
from infex.bandit.rewards import (
    ON_DUPLICATE,
    Learnt,
    OnDuplicate,
    Reward,
    RewardHistory,
    RewardRule,
    checked_weight,
    checked_weights,
)
from infex.checks import one_of, real, safe_repr, whole
from infex.errors import (
    AlreadyTold,
    CannotMerge,
    DamagedFile,
    DuplicateId,
    InfexError,
    InvalidArms,
    InvalidChoice,
    InvalidReward,
    InvalidRound,
    InvalidSetting,
    NotKept,
    NotRemembered,
    StalePosterior,
    StoreFailed,
    UnknownDecision,
)
from infex.features import Encoded, FeatureMap
from infex.features.base import ScaledMap, checked_map, encoder_of
from infex.features.table import NONE_GIVEN, Categories, Numbers
from infex.logs.log import Fingerprint, Log
from infex.logs.schema import LogRow
from infex.models.base import Estimator, checked_estimator, rescaled
from infex.models.layout import GONE, ArmRow, ContextOffer, DesignRow, PerArm, radius_of
from infex.models.pending import PendingWay
from infex.models.pending import narrows as narrows_by
from infex.models.posterior import Posterior
from infex.models.state import ModelState, ObservationNumbers
from infex.models.sums import Revision
from infex.policies.base import (
    Policy,
    PolicyInfo,
    check_schedule_status,
    checked,
    policy_info,
    restore_state,
    without_arms,
    without_parameters,
)
from infex.policies.choice import Choice, Reason, ScheduleStatus, best_arms, checked_choice
from infex.policies.infex import base_propensities
from infex.policies.ucb import DEFAULT_CONFIDENCE
from infex.registry import describe, label_of
from infex.schedules.base import a_round
from infex.streams import Rounds

STREAM = "bandit"
NOT_COPIED = ("_lock", "_draws", "_log")


class Correction(NamedTuple):
    """The effective weight of a reward, and its numbers among all rewards and among those of exploring
    rounds, taken before it is learnt so that it can be revised exactly.
    """

    counted: float
    numbers: ObservationNumbers


@final
class Bandit:
    """Joins arms, a policy and all that was learnt: `ask` for a decision, `tell` its reward.

    `arms` is a (K, d) array of rows no longer than 1, with `labels` for them if you like; with
    `rescale`, a longer row is divided by its length. Where the arms change every round, say
    `dim` instead and give them to `ask`; or give `features`, a map of `infex.features` that joins
    arms with a context, and ask with the context. Rewards may come late, in any order, or never.
    `allowed` says for every arm whether exploring may try it (a policy without a schedule explores
    in every round). `penalty` is that of the ridge; `estimator` is one of `infex.models`, in the
    place of ridge regression. `seed` is that of all draws.

    `pending` decisions "narrow" the widths that exploring reads, as if each had been told its estimate: a
    night of explorations without rewards is spread over many arms. With "ignore" it looks at rewards alone,
    and all of them may go to one arm. Estimates and intervals do not depend on it.

    `log` is a file to which every decision is appended before `ask` gives it, and every reward; it survives
    the end of the process at any moment, and `infex.evaluation.read` reads it. See `log_to`.

    `rewards` are the least and the greatest that can be told, as in (0, 250): any other is refused, and the
    decision stays pending. With (0, 1) True and False are rewards too. `remembers` says for how many of the
    last decisions what was told is kept, for a second reward by `tell(..., on_duplicate=...)`; each takes
    some 600 bytes.

    `horizon` is how many decisions are expected, if that is known: a schedule with fewer explorations than
    there are parameters is warned of (`FewExplorations`), as is one that stops for good before that.

    Any number of threads may use one bandit: it does one thing at a time.

    >>> from infex import Infex, LinUCB, every
    >>> policy = Infex(LinUCB(), every(2))
    >>> bandit = Bandit([[1.0, 0.0], [0.6, 0.8]], policy, labels=["plain", "rich"])
    >>> first = bandit.ask()
    >>> first.label, first.explored
    ('plain', False)
    >>> bandit.tell(first, reward=-1.0)
    >>> second = bandit.ask(id="order-124")
    >>> second.label, second.explored
    ('rich', True)
    >>> bandit.tell("order-124", reward=1.0)
    """

    def __init__(
        self,
        arms: npt.ArrayLike | None = None,
        policy: Policy | None = None,
        *,
        dim: int | None = None,
        features: FeatureMap | None = None,
        seed: int = 0,
        penalty: float = 1.0,
        labels: Iterable[Label] | None = None,
        rescale: bool = False,
        allowed: npt.ArrayLike | None = None,
        estimator: Estimator | None = None,
        pending: PendingWay = "narrow",
        rewards: tuple[float, float] | None = None,
        remembers: int = 0,
        horizon: int | None = None,
        log: str | os.PathLike[str] | None = None,
    ) -> None:
        narrowing, rule = narrows_by(pending), RewardRule(rewards, estimator)
        history = RewardHistory.of(remembers)
        source = arms_of(arms, dim, checked_map(features), labels, rescale)
        source.allow(allowed)
        known = checked("policy", policy)
        prior = Prior.of(penalty, checked_estimator(estimator), source.unit)
        apart = policy_info(known).uses_explored
        model = ModelState.empty(source.layout, prior.inside, apart, rescaled(estimator, source.unit))
        model.pulls = no_pulls(source)
        agent = Agent(known, model)
        self._assemble(
            Parts(
                source, agent, whole("seed", seed), estimator, prior, rule, history, Ids(), Pending(),
                Replication(), Fingerprint(), narrowing,
            )
        )  # fmt: skip
        warn_if_underexplored(agent.policy, source.layout, horizon)
        if log is not None:
            self.log_to(log)

    def _assemble(self, parts: Parts) -> None:
        self._arms, self._agent, self._seed = parts.arms, parts.agent, parts.seed
        self._estimator, self._prior, self._rule = parts.estimator, parts.prior, parts.rule
        self._history, self._ids, self._pending = parts.history, parts.ids, parts.pending
        self._replication, self._taught = parts.replication, parts.taught
        self._draws = Rounds(self._seed, STREAM)
        self._lock = threading.RLock()
        self._log: DecisionLogger | None = None
        self._read_policy()
        self._track_pending(parts.narrows)
        _ALIVE.add(self)

    def _parts(self) -> Parts:
        return Parts(
            self._arms, self._agent, self._seed, self._estimator, self._prior, self._rule, self._history,
            self._ids, self._pending, self._replication, self._taught, self.narrows,
        )  # fmt: skip

    def _read_policy(self) -> None:
        """Caches the policy's confidence radius and the reward size that is warned of."""
        info = self._agent.info
        self._radius = info.confidence_radius or DEFAULT_CONFIDENCE.confidence_radius
        self._rule.follow(info.reward_bound)

    # One decision: decide, then apply

    def ask(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
        allowed: npt.ArrayLike | None = None,
        offered: object = None,
        explore: bool = True,
        id: str | None = None,  # noqa: A002 - what users call it
    ) -> Decision:
        """Takes the next decision; give the arms on offer, with `labels` if you like, or the context.

        `offered` names the arms that may be played at all in this request, greedily too: by label where arms
        have labels, else by index, or with a truth for each. Costs count from the best of them, and the
        probability of a decision is over them. With `explore=False` nothing is explored in this request: what
        was due is skipped, or owed, as the schedule says. `allowed` says for every arm whether exploring may
        try it in this round; what the bandit forbids in all rounds stays forbidden.

        `id` is a text of your own to tell the reward by; by itself a decision has one that no other process,
        copy or loaded file gives out again. Your own must not be one that is pending; whether it was used
        before that is yours to know.
        """
        request = _request(arms, labels, context, allowed, offered, explore)
        with self._lock:
            request = self._arms.read(request)
            record = self._decide(request, id)
            if self._log is not None:
                self._write_rows([self._log_row(request, record)])
            self._apply(record)
        return record.decision

    def ask_many(
        self,
        asked: object,
        labels: Iterable[Iterable[Label] | None] | None = None,
        *,
        allowed: npt.ArrayLike | None = None,
        offered: object = None,
        explore: npt.ArrayLike = True,
        ids: Iterable[str] | None = None,
    ) -> Decisions:
        """Takes many decisions at once: equal to as many calls of `ask` that get no reward in between.

        `asked` is how many, for fixed arms; a list of contexts, or an array with one in each row; or a list
        of sets of arms, with one list of `labels` for each set if you like. Each decision is a round.
        `allowed` is that of `ask`, the same for all; `ids` are texts of your own, one for each. `offered` is
        a list of what `ask` takes, one for each decision, or an array of truths, (n, K); or one list of
        labels, the same for all. `explore` is one truth, or one for each. If one decision cannot be taken,
        none is.

        >>> from infex import Bandit, Infex, LinUCB, every, features
        >>> shop = Bandit(features=features.disjoint(["tea", "juice"], 2), policy=Infex(LinUCB(), every(2)))
        >>> shop.ask_many([[0.6, 0.8], [1.0, 0.0]]).explored.tolist()
        [False, True]
        >>> shop.ask_many([[0.6, 0.8], [1.0, 0.0]], offered=[["tea"], ["juice"]]).labels
        ['tea', 'juice']
        """
        with self._lock:
            requests = self._arms.requests(asked, labels, BatchRules(allowed, offered, explore))
            keys = self._own_ids(ids, len(requests))
            account, policy_state = self._agent.account.copy(), self._agent.policy_state
            taken: list[DecisionRecord] = []
            rows: list[LogRow] = []
            try:
                while len(taken) < len(requests):
                    request = self._arms.read(requests[len(taken)])
                    record = self._decide(request, keys[len(taken)])
                    self._log_and_apply(request, record, rows)
                    taken.append(record)
                    for key in keys[len(taken) : len(taken) + self._repeats(request, record)]:
                        record = self._repeated(record, key)
                        self._log_and_apply(request, record, rows)
                        taken.append(record)
                if self._log is not None:
                    self._write_rows(rows)
                if taken:
                    self._agent.set_warm_start(any(record.decision.explored for record in taken))
            except BaseException as error:
                self._agent.account, self._agent.policy_state = account, policy_state
                self._pending.remove_after(account.t)
                self._track_pending(self.narrows)
                if isinstance(error, InfexError) and len(requests) > 1 and len(taken) < len(requests):
                    raise type(error)(f"request {len(taken)}: {error}") from error
                raise
        return Decisions(record.decision for record in taken)

    def _repeats(self, request: Request, record: DecisionRecord) -> int:
        """How many further rounds of a batch have the decision that was just applied.

        Over fixed arms, with nothing learnt in between, greedy rounds do, until the next that may explore.
        """
        if (
            request is not NOTHING_ASKED
            or record.schedule_status is not ScheduleStatus.REST
            or record.policy_state is not None
        ):
            return 0
        return int(min(self._agent.greedy_rounds_after(record.decision.t), MOST_AT_ONCE))

    def _repeated(self, record: DecisionRecord, own_id: str | None) -> DecisionRecord:
        """The same decision in the next round, under its own id."""
        t = record.decision.t + 1
        key = self._ids.of_round(t) if own_id is None else own_id
        return DecisionRecord(Decision(key, t, *record.decision[2:]), *record[1:])

    def decide(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
        allowed: npt.ArrayLike | None = None,
        offered: object = None,
        explore: bool = True,
        id: str | None = None,  # noqa: A002 - what users call it
    ) -> DecisionRecord:
        """What `ask` would decide; nothing changes until it is applied, by `enter`.

        `arms`, `labels`, `context`, `allowed`, `offered`, `explore` and `id` are those of `ask`.
        """
        request = _request(arms, labels, context, allowed, offered, explore)
        with self._lock:
            record = self._decide(self._arms.read(request), id)
            return record._replace(played=self._features_of(record.decision.arm))

    def enter(self, record: DecisionRecord) -> Decision:
        """Applies a decision as it was decided, here or by a bandit in the same state: none is taken anew.

        The `record` must be that of the next round, with no change of arms or policy since. Rewards may have
        been told since: what was decided stays.
        """
        with self._lock:
            record = self._checked_record(record)
            if self._log is not None:
                self._write_rows([row_of(self._arms, request_behind(self._arms, record), record, None)])
            if not record.own_id:
                self._ids.adopt(record.decision.id, record.decision.t)
            self._apply(record)
            self._agent.account.mark_stale()  # rewards may have been told since it was decided
        return record.decision

    def _decide(self, request: Request, own_id: str | None) -> DecisionRecord:
        """The decision of the next round; nothing has changed yet."""
        agent, offered = self._agent, self._arms.offer(request)
        t = agent.account.t + 1
        key = self._ids.of_round(t) if own_id is None else self._own_id(own_id)
        posterior = agent.posterior(offered.columns, offered.allowed)
        if request.offered is not None or request.explore is not True:
            mask = offered_mask(request.offered, offered.labels, len(posterior))
            posterior = posterior.requested(mask, may_explore(request.explore))
        rng = self._draws.at(t)
        decide = agent.decide if agent.info.built_in else self._decide_guarded
        step = decide(t, posterior, rng)
        noticed = request.context.noticed if isinstance(request.context, Encoded) else ()
        decision = self._described(key, step, posterior, offered.labels)
        return DecisionRecord(
            decision=decision,
            on=step.on,
            schedule_status=step.choice.schedule_status,
            policy_state=step.choice.policy_state,
            loss=step.loss,
            noticed=noticed,
            own_id=own_id is not None,
            changes=agent.account.changes,
        )

    def _decide_guarded(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Step:
        """What a policy with a user's code does; refused if it changed this bandit while it chose."""
        step, before = None, self._version()
        try:
            step = self._agent.decide(t, posterior, rng)
        except StalePosterior:
            if self._version() == before:
                raise
        if step is None or self._version() != before:
            raise InvalidChoice(f"the policy changed its own bandit while it chose in round {t}")
        return step

    def _described(self, key: str, step: Step, posterior: Posterior, labels: Labels) -> Decision:
        """What was chosen, with all that was known of its arm, among all those on offer."""
        choice, arm, greedy = step.choice, step.arm, posterior.greedy
        if arm != greedy and not choice.explored and arm in best_arms(posterior.estimates):
            greedy = arm
        estimate, width = posterior.estimate_and_width(arm)
        radius = self._radius(posterior)
        margin = radius_of(radius, arm) * width
        if not margin >= 0.0:
            raise InvalidChoice(f"the radius of the policy must be a number from 0, got {radius!r}")
        return Decision(
            id=key,
            t=step.t,
            arm=choice.arm,
            label=None if labels is None else labels[choice.arm],
            explored=choice.explored,
            greedy=choice.arm if arm == greedy else posterior.place(greedy),
            estimate=estimate,
            low=estimate - margin,
            high=estimate + margin,
            propensity=choice.propensity,
            reason=choice.reason or (Reason.EXPLORED if choice.explored else Reason.GREEDY),
            explore_probability=choice.explore_probability,
            base_propensity=choice.base_propensity,
        )

    def _apply(self, record: DecisionRecord, *, warm_start: bool = True) -> None:
        """The only change that a decision makes."""
        agent, decision, on = self._agent, record.decision, record.on
        different = decision.explored and decision.arm != decision.greedy
        agent.apply(
            decision.t, decision.explored, record.schedule_status, record.loss, different,
            record.policy_state, warm_start=warm_start,
        )  # fmt: skip
        if record.noticed:
            agent.account.noticed.update(record.noticed)
        self._pending.add(decision, on)
        if agent.model.pending_design is not None:
            agent.model.pending_design.add(decision, on)

    def _checked_record(self, record: DecisionRecord) -> DecisionRecord:
        """A record, if it can be applied now: it may come from a journal."""
        if not isinstance(record, DecisionRecord):
            raise InvalidChoice(
                f"enter takes what `decide` gave, a DecisionRecord; got a {type(record).__name__}"
            )
        decision, policy, account = record.decision, self.policy, self._agent.account
        if type(decision.t) is not int or decision.t != account.t + 1:
            raise InvalidRound(
                f"{decision.id!r} was decided as round {decision.t}, and round {account.t + 1} is next: "
                "another decision was taken since, or one is missing; decide anew"
            )
        if record.changes != account.changes:
            raise InvalidRound(
                f"arms or the policy have changed since {decision.id!r} was decided: decide anew"
            )
        if record.own_id:
            self._ids.own(decision.id)
        self._pending.refuse(decision.id)
        try:
            on = self._checked_on(record.on, decision.arm)
        except DamagedFile as error:
            raise InvalidChoice(f"{decision.id!r} cannot be learnt: {error}") from None
        policy_state, loss = self._checked_effects(record)
        encodes = isinstance(self._arms, Mapped) and self._arms.encoder is not None
        if not isinstance(record.noticed, tuple) or not all(isinstance(rule, str) for rule in record.noticed):
            raise InvalidChoice("what was noticed of a context must be a tuple of texts")
        if record.noticed and not encodes:
            raise InvalidChoice("something was noticed of a context that this bandit has no encoder for")
        if record.played is not None and record.played != self._features_of(decision.arm):
            raise InvalidRound(f"{decision.id!r} was decided among other arms: decide anew")
        if not _fits_schedule(self._agent.info, record.schedule_status is not None):
            raise InvalidChoice(
                f"the schedule_status {record.schedule_status!r} cannot be one of {type(policy).__name__}'s"
            )
        return record._replace(on=on, policy_state=policy_state, loss=loss)

    def _checked_effects(self, record: DecisionRecord) -> tuple[Any, float]:
        """The policy state and the loss of a record whose choice the policy can have made."""
        decision, arms = record.decision, self._arms
        layout = arms.layout
        count = layout.arms if isinstance(layout, PerArm) else layout.shape[1] or decision.arm + 1
        choice = Choice(
            decision.arm, decision.explored, record.policy_state, str(decision.reason), None,
            decision.propensity, decision.explore_probability, decision.base_propensity,
            record.schedule_status,
        )  # fmt: skip
        checked_choice(choice, max(count, 1), arms.dim)
        check_schedule_status(choice, self._agent.account.owed)
        most = None if decision.explored else 0.0
        loss = real("loss", record.loss, least=0, most=most, error=InvalidChoice)
        return self._checked_policy_state(record.policy_state, decision.t), loss

    def _checked_policy_state(self, policy_state: Any, t: int) -> Any:
        restored = restore_state(self.policy, policy_state, self._arms.dim)
        if restored is None and policy_state is not None:
            raise InvalidChoice(f"the policy state of round {t} is not one of {type(self.policy).__name__}'s")
        return restored

    def _checked_on(self, on: DesignRow, arm: int) -> DesignRow:
        """What the reward of an arm is learnt on, if there is such an arm, or so many features."""
        layout = self._arms.layout
        if isinstance(layout, PerArm):
            if not isinstance(on, ArmRow) or on.arm != arm or not 0 <= arm < layout.arms:
                raise InvalidChoice(f"the reward of arm {arm} must be learnt on it, in a context")
            return ArmRow(arm, fitting_rows("a context", np.atleast_2d(on.context), layout.row)[0])
        if isinstance(on, int):
            if on != arm or not 0 <= on < layout.shape[1]:
                raise InvalidChoice(f"the reward of arm {arm} cannot be learnt on arm {on}")
            return on
        if isinstance(on, ArmRow):
            raise InvalidChoice(f"the reward of arm {arm} cannot be learnt on one in a context")
        row: Floats = fitting_rows("what is learnt on", np.atleast_2d(on), len(layout))[0]
        return row

    def _own_id(self, own_id: object) -> str:
        key = self._ids.own(own_id)
        self._pending.refuse(key)
        return key

    def _own_ids(self, ids: Iterable[str] | None, count: int) -> list[str] | list[None]:
        """Ids of the caller's own: as many as there are requests, no two the same, and none that waits."""
        if ids is None:
            return [None] * count
        if isinstance(ids, str):
            raise InvalidSetting(f"ids must be a list with one text for each decision, got the text {ids!r}")
        keys = [self._own_id(key) for key in ids]
        if len(keys) != count:
            raise InvalidSetting(f"ids must be as many as the decisions, {count}, got {len(keys)}")
        key, times = Counter(keys).most_common(1)[0] if keys else ("", 0)
        if times > 1:
            raise DuplicateId(f"decision {key!r} would wait twice: ids may not come twice")
        return keys

    def _version(self) -> tuple[int, int, int]:
        """What any change changes: decisions taken, changes of arms and policy, rewards told."""
        account = self._agent.account
        return account.t, account.changes, self._agent.model.all.n_observations

    def _features_of(self, arm: int) -> tuple[float, ...] | None:
        """The features of one of the fixed arms; None where arms change."""
        arms = self._arms
        if not isinstance(arms, Fixed):
            return None
        return tuple(arms.columns[:, arm].tolist()) if 0 <= arm < arms.columns.shape[1] else ()

    # Rewards

    def tell(
        self,
        decision: Decision | str | int,
        reward: Reward,
        *,
        weight: float = 1.0,
        on_duplicate: OnDuplicate = "refuse",
    ) -> None:
        """Reports the reward of a decision, given as it was or by its id.

        `weight` is how much it counts in the squared error, as in 1/variance; 1 for a plain reward.
        `on_duplicate` is what a second reward does in a bandit that `remembers`: "refuse" it; nothing if it
        is the "same", any other being refused; be added ("sum"); or "replace" the first. All is then as if
        the sum, or the last, had been told at once.

        >>> from infex import Greedy
        >>> shop = Bandit([[1.0]], Greedy(), remembers=1000)
        >>> visit = shop.ask()
        >>> shop.tell(visit, 0.5, on_duplicate="sum")  # a click
        >>> shop.tell(visit, 2.5, on_duplicate="sum")  # and what was bought
        >>> shop.estimates().estimate.round(9).tolist(), shop.pulls.tolist()
        ([1.5], [1])
        """
        weight = checked_weight(weight)
        with self._lock:
            if on_duplicate != "refuse" or self._history is not None:
                self._tell_again(decision, reward, weight, one_of("on_duplicate", on_duplicate, ON_DUPLICATE))
                return
            value = self._rule.number(reward)
            waiting = self._pending_entry(decision)
            self._rule.warn(value, self.policy)
            self._learn(waiting, value, weight)

    def tell_many(
        self,
        decisions: Decisions | Iterable[Decision | str | int],
        rewards: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Reports many rewards at once, in their order, as `tell` does one by one; all of them, or none.

        `decisions` are those of `ask_many`, or a list of decisions or ids; `weights` are those of `tell`.
        """
        with self._lock:
            every = [decisions] if isinstance(decisions, str) else decisions
            waiting = [self._pending_entry(each) for each in every]
            key, times = (
                Counter(each.decision.id for each in waiting).most_common(1)[0] if waiting else ("", 0)
            )
            if times > 1:
                raise DuplicateId(f"decision {key!r} is told {times} times at once")
            values = self._rule.numbers(rewards, len(waiting))
            counts = checked_weights(weights, len(waiting))
            rows = list(zip(waiting, values.tolist(), counts.tolist(), strict=True))
            model = self._agent.model
            for (_, on), value, weight in rows:
                model.effective_weight(on, value, weight)  # which refuses it, before anything is learnt
            if values.size:
                self._rule.warn(float(values[np.argmax(np.abs(values))]), self.policy)
            if self._log is not None:
                self._log.write_rewards([(each.decision, value, weight) for each, value, weight in rows])
            for each, value, weight in rows:
                self._learn(each, value, weight, logged=True)

    def drop(self, decision: Decision | str | int) -> None:
        """Forgets a decision whose reward will never come."""
        with self._lock:
            self._resolve(self._pending_entry(decision))

    def _learn(self, waiting: PendingEntry, reward: float, weight: float, logged: bool = False) -> None:
        """Learns the reward of a pending decision, or refuses it and changes nothing."""
        decision, on = waiting
        agent = self._agent
        if self._log is not None and not logged:
            agent.model.effective_weight(on, reward, weight)  # which refuses it
            self._log.write_rewards([(decision, reward, weight)])
        numbers = None if self._history is None else agent.model.observation_numbers(on, decision.explored)
        counted = agent.learn(decision.arm, on, reward, decision.explored, weight)
        if agent.model.pulls is not None:
            self._count_pull(decision)
        self._resolve(waiting)
        if self._history is not None and numbers is not None:
            self._history.add(waiting, Learnt(reward, weight, counted, numbers))

    def _resolve(self, waiting: PendingEntry) -> None:
        """A decision was told, or dropped: it is pending no more."""
        self._pending.remove(waiting.decision.id)
        if self._agent.model.pending_design is not None:
            self._agent.model.pending_design.remove(*waiting)

    def _pending_entry(self, decision: Decision | str | int) -> PendingEntry:
        """The pending decision that is meant, and what its reward is learnt on."""
        key = _id_of(decision)
        waiting = self._pending.find(key)
        if waiting is None:
            self._ids.refuse(key, self.t)
        _refuse_other(decision, waiting.decision)
        return waiting

    def _tell_again(self, given: Decision | str | int, reward: object, weight: float, way: str) -> None:
        """Reports the first reward of a decision, which is remembered, or another one, as `way` says."""
        history, key = self._history, _id_of(given)
        if history is None:
            raise InvalidSetting(
                f"on_duplicate={way!r} needs a bandit that remembers: Bandit(..., remembers=1000)"
            )
        found = history.find(key) if self._pending.find(key) is None else None
        if found is None:
            try:
                waiting = self._pending_entry(given)
            except AlreadyTold:
                raise NotRemembered(
                    f"decision {key!r} was dropped, or has its reward, and is not among the last "
                    f"{history.most} that are remembered"
                ) from None
            value = self._rule.number(reward)
            self._rule.warn(value, self.policy)
            self._learn(waiting, value, weight)
            return
        decision, on, learnt = found
        value = self._rule.number(reward, ranged=way != "sum")  # money may be given back; the sum has a range
        _refuse_other(given, decision)
        if weight not in (1.0, learnt.weight):
            raise InvalidReward(
                f"a second reward has the weight of the first, {learnt.weight:g}, got {weight:g}"
            )
        if way == "same" and value == learnt.reward:
            return
        if way in ("refuse", "same"):
            raise AlreadyTold(f"decision {key!r} was told {learnt.reward!r} already, and now {value!r}")
        after = self._rule.number(learnt.reward + value if way == "sum" else value)
        self._rule.warn(after, self.policy)
        self._revise(Revision(on, learnt.reward, after, learnt.counted, learnt.numbers[0]), learnt.numbers[1])
        self._replication.revise()
        if self._log is not None:
            self._log.write_rewards([(decision, after, learnt.weight)])
        history.replace(key, after)

    def _revise(self, revision: Revision, explored_number: int | None) -> None:
        """All that was learnt is as if a reward had been told as `revision.after`."""
        if self._agent.info.learners:
            raise NotKept(
                f"{safe_repr(self.policy)} keeps a state of its own, of which no reward can be changed"
            )
        if revision.after is not None:
            self._agent.model.all.check_reward(revision.after)
        self._agent.model.revise(revision, explored_number)
        self._agent.account.mark_stale()

    def _count_pull(self, decision: Decision) -> None:
        """One more reward of an arm of a map with one regression, if the arm is still there."""
        pulls, arms = self._agent.model.pulls, self._arms
        assert pulls is not None
        assert isinstance(arms, Mapped)
        place = arms.place_now(decision.t, decision.arm, decision.label)
        if place is not None:
            pulls[place] += 1

    def learn(
        self,
        contexts: object = None,
        arms: object = None,
        rewards: npt.ArrayLike = (),
        weights: npt.ArrayLike | None = None,
        *,
        explored: npt.ArrayLike | None = None,
    ) -> None:
        """Learns from a log of its own or of others: as if these rewards had been told; all of them, or none.

        No round is counted, and no exploration. `arms` are labels where arms have labels, else indices, and
        rows of features where arms change every round; `contexts` go with a feature map alone. `weights` say
        how much each of the `rewards` counts, as in `tell`. `explored` says which rows were explorations, for
        a base that keeps data of its own.

        >>> from infex import Bandit, Greedy
        >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), labels=["tea", "juice"])
        >>> bandit.learn(arms=["tea", "juice", "tea"], rewards=[0.0, 1.0, 1.0])
        >>> bandit.estimates().pulls.tolist(), bandit.t
        ([2, 1], 0)
        """
        with self._lock:
            agent, model = self._agent, self._agent.model
            places, design, noticed = self._arms.logged(arms, contexts)
            count = design.size
            values, counts = self._rule.numbers(rewards, count), checked_weights(weights, count)
            tried = np.zeros(count, dtype=bool) if explored is None else np.asarray(explored)
            if tried.shape != (count,) or tried.dtype != np.bool_ or is_masked(explored):
                raise InvalidReward(f"explored must be True or False for each of {count} rewards")
            if model.searches or agent.info.learners:
                for n in range(count):
                    counts[n] = model.effective_weight(design.on(n), float(values[n]), float(counts[n]))
            if count:
                self._rule.warn(float(values[np.argmax(np.abs(values))]), self.policy)
            if agent.info.learners:
                for n in range(count):
                    row = model.row(design.on(n))
                    agent.info.update(int(places[n]), row, float(values[n]), bool(tried[n]))
            model.all.bulk_update(design, values, counts)
            if model.explored is not None and tried.any():
                mine = np.flatnonzero(tried)
                model.explored.bulk_update(design.at(mine), values[mine], counts[mine])
            if model.pulls is not None:
                model.pulls += np.bincount(places, minlength=model.pulls.size)
            agent.account.noticed.update(noticed)
            agent.account.mark_stale()

    # What is known

    def posterior(self, arms: npt.ArrayLike | None = None, *, context: object = None) -> Posterior:
        """What the policy would read now; it stays as it is. Give the arms, if they change, or a context.

        Exploring reads its `narrowed`, in which pending decisions count; a policy without a schedule, which
        explores in every round, reads no other.
        """
        with self._lock:
            offered = self._offer(Request(arms, context=context))
            return self._agent.posterior(offered.columns, offered.allowed).copy()

    def design_row(self, arm: int, arms: npt.ArrayLike | None = None, *, context: object = None) -> DesignRow:
        """What a reward of an arm is learnt on; give the arms, if they change, or a context."""
        with self._lock:
            offered = self._offer(Request(arms, context=context))
            return self._agent.posterior(offered.columns).design_row(arm)

    def estimates(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls (rewards it was told).

        Give arms (and `labels`) to ask about others than the fixed ones; their pulls are not known, and 0.
        With a feature map give the `context`.
        """
        with self._lock:
            offered = self._offer(Request(arms, labels, context))
            posterior = self._agent.posterior(offered.columns)
            margins, mean = self._radius(posterior) * posterior.widths, posterior.estimates
            pulls = None if arms is not None else self.pulls
            return _table(offered.labels, mean, mean - margins, mean + margins, pulls)

    def intervals(
        self,
        level: float = 0.95,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls; by the noise that was seen, not theory.

        An arm's mean reward lies from `low` to `high` with a chance of about `level`, one arm and one moment
        at a time: Student's quantile times the standard error, and what the penalty may draw the estimate by
        if theta is no longer than the policy's `bound`. Where too little was seen there is no end. With
        `rewards=` it stays in that range, and with `Logistic` within 0 and 1. docs/intervals.md says how
        often it holds, and where not. `arms`, `labels` and `context` are those of `estimates`.

        >>> from infex import Bandit, Greedy
        >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), rewards=(0, 1))
        >>> bandit.learn(arms=[0] * 8 + [1] * 8, rewards=[1, 0, 1, 1, 1, 0, 1, 1] + [0] * 7 + [1])
        >>> bandit.intervals(0.9).low.round(2).tolist(), bandit.intervals(0.9).high.round(2).tolist()
        ([0.32, 0.0], [1.0, 0.45])
        """
        checked_level(level)
        with self._lock:
            offered = self._offer(Request(arms, labels, context))
            posterior = self._agent.posterior(offered.columns)
            ends = self._intervals().over(offered.columns, posterior, level)
            return _table(offered.labels, *ends, None if arms is not None else self.pulls)

    def interval(self, decision: Decision | str | int, level: float = 0.95) -> tuple[float, float]:
        """From where to where the mean reward of a pending decision's arm lies, as was known then.

        It goes by the noise that was seen, as `intervals` does, and holds with a chance of about `level`. It
        is known until something further is learnt, or arms or features change; after that it is not kept
        (NotKept).

        >>> from infex import Bandit, Greedy
        >>> bandit = Bandit([[1.0]], Greedy(), rewards=(0, 1))
        >>> bandit.learn(arms=[0] * 8, rewards=[1, 0, 1, 1, 1, 0, 1, 1])
        >>> decision = bandit.ask()
        >>> [round(end, 2) for end in bandit.interval(decision, 0.9)]
        [0.28, 1.0]
        """
        checked_level(level)
        with self._lock:
            try:
                mine, on = self._pending_entry(decision)
            except AlreadyTold as error:
                raise AlreadyTold(
                    f"{error}: an interval is that of a pending decision; see `bandit.intervals` for now"
                ) from None
            if mine.t <= self._agent.account.stale_through:
                raise NotKept(
                    f"something was learnt or changed since {mine.id!r} was decided: ask for its interval "
                    "before the next reward is told, or see `bandit.intervals` for now"
                )
            return self._intervals().on(on, level)

    def _intervals(self) -> NoiseIntervals:
        rule = self._rule
        return NoiseIntervals(
            self._agent.model, self._estimator, self.policy, rule.range, rule.largest_variance
        )

    def _offer(self, request: Request) -> Any:
        """The arms that are asked about: one may ask about others than the fixed ones."""
        arms = self._arms
        if request.arms is not None and isinstance(arms, Fixed):
            return Changing(arms.dim, arms.rescale).offer(request)
        return arms.offer(arms.read(request))

    def contributions(self, on: DesignRow) -> dict[str, float]:
        """theta_j x_j of every feature of what a reward is learnt on: they add up to the estimate.

        With a `Logistic` estimator they add up to its log-odds. Features without a name are "feature 0", ...;
        where a map multiplies contexts by features of arms, the names of both are joined.
        """
        with self._lock:
            model, layout = self._agent.model, self._arms.layout
            theta = model.all.posterior().theta
            if isinstance(on, ArmRow):
                assert isinstance(layout, PerArm)
                own = theta[on.arm * layout.dim : (on.arm + 1) * layout.dim]
                products = np.concatenate([own, theta[layout.arms * layout.dim :]]) * on.context
                names = self._feature_names(layout.dim)
                names += [f"shared feature {place}" for place in range(layout.shared)]
            else:
                products = theta * model.row(on)
                names = self._feature_names(len(products))
            return dict(zip(names, products.tolist(), strict=True))

    def _feature_names(self, count: int) -> list[str]:
        known = self.names
        if known is not None and len(known) == count:
            return list(known)
        if known is None or count % len(known):
            return [f"feature {place}" for place in range(count)]
        blocks = range(count // len(known))
        return [f"{name} x feature {block} of the arm" for block in blocks for name in known]

    def exploration(self) -> Exploration:
        """How much was planned, done and skipped, the next round due, and the estimated cost so far."""
        with self._lock:
            return self._agent.exploration(self._agent.posterior())

    def draws(self, t: int) -> np.random.Generator:
        """A generator as the policy got it in round t, to replay that round's choice."""
        return Rounds(self._seed, STREAM).at(a_round(t))

    @property
    def policy(self) -> Policy:
        """The policy; another may take over at any time, and goes on with all that was learnt.

        The clock goes on too: a schedule counts rounds from the bandit's first. What was spent stays
        spent: the cost and the number of explorations, and those that are owed, count for the new
        policy's limits.
        """
        return self._agent.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        with self._lock:
            self._agent.policy = policy
            self._agent.account.changes += 1
            self._read_policy()

    @property
    def policy_state(self) -> Any:
        """What the policy remembers of its own choices, None at first."""
        return self._agent.policy_state

    @property
    def seed(self) -> int:
        """The seed of all draws."""
        return self._seed

    @property
    def rescale(self) -> bool:
        """Are arms longer than 1 divided by their length?"""
        return self._arms.rescale

    @property
    def explored(self) -> int:
        """How many decisions explored."""
        return self._agent.account.done

    @property
    def t(self) -> int:
        """How many decisions were taken."""
        return self._agent.account.t

    @property
    def arms(self) -> Floats:
        """The fixed arms, (K, d)."""
        return shown(self._agent.model.columns.T)

    @property
    def allowed(self) -> Bools | None:
        """Which of the fixed arms, or those of the feature map, exploring may try; None if all."""
        return None if self._arms.allowed is None else shown(self._arms.allowed)

    @allowed.setter
    def allowed(self, allowed: npt.ArrayLike | None) -> None:
        with self._lock:
            self._arms.allow(allowed)
            self._agent.account.changes += 1

    @property
    def narrows(self) -> bool:
        """Do pending decisions narrow what exploring reads? It can be switched at any time."""
        return self._agent.model.pending_design is not None

    @narrows.setter
    def narrows(self, narrows: bool) -> None:
        if not isinstance(narrows, bool):
            raise InvalidSetting(f"narrows must be True or False, got {narrows!r}")
        with self._lock:
            self._track_pending(narrows)
            self._agent.account.changes += 1

    def _track_pending(self, narrows: bool) -> None:
        """Lets exploring look at all that is pending, or at none of it."""
        model = self._agent.model
        model.pending_design = None
        if narrows:
            model.track_pending(self._pending.batch() if len(self._pending) else None)

    @property
    def features(self) -> FeatureMap | None:
        """The map that joins arms with a context, if there is one."""
        return self._arms.features if isinstance(self._arms, Mapped) else None

    @property
    def estimator(self) -> Estimator | None:
        """The estimator; None is ridge regression."""
        return self._estimator

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The labels of the fixed arms, or those of the feature map, if they have any."""
        return self._arms.labels

    @property
    def penalty(self) -> float:
        """The ridge penalty, on theta for features as they are given, before a map divides them."""
        return self._prior.penalty

    @property
    def rewards(self) -> tuple[float, float] | None:
        """The least and the greatest reward that can be told, if they were said."""
        return self._rule.range

    @property
    def remembers(self) -> int:
        """For how many decisions what was told is remembered, so that a second reward can be told."""
        return 0 if self._history is None else self._history.most

    @property
    def theta(self) -> Floats:
        """The estimated parameter: (d,), or with a map that has blocks a row for each, (K, c) if disjoint.

        It is for contexts as they are given, before they are divided by `longest`; with `features.table`
        for its features, numbers from -1 to 1, as `names` names them. With `Logistic` it tells log-odds.
        """
        with self._lock:
            theta, features = self._agent.model.all.posterior().theta, self.features
        return shown(features.in_units(theta) if isinstance(features, ScaledMap) else theta)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features of contexts, if they have any: those of the columns of `theta`."""
        encoder = encoder_of(self.features)
        return None if encoder is None else encoder.names

    @property
    def pulls(self) -> Integers | None:
        """How many rewards every arm was told, (K,); None if arms change every round."""
        with self._lock:
            model, layout = self._agent.model, self._arms.layout
            if isinstance(self._arms, Changing):
                return None
            if isinstance(layout, PerArm):
                offer = ContextOffer(np.zeros(layout.dim), np.zeros((layout.arms, layout.shared)))
                return model.offer(offer).pulls
            return model.posterior().pulls if model.pulls is None else shown(model.pulls.copy())

    @property
    def noticed(self) -> dict[str, int]:
        """How many decisions had a context that a rule of its table was needed for: {"age clipped": 3}."""
        with self._lock:
            return dict(sorted(self._agent.account.noticed.items()))

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions that still wait for their reward, oldest first."""
        with self._lock:
            return tuple(decision for decision, _ in self._pending)

    def __repr__(self) -> str:
        ignored = "" if self.narrows else " ignored"
        counts = f"t={self.t}, explored={self.explored}, pending={len(self._pending)}{ignored}"
        return f"Bandit({self._arms} of {self._arms.dim} features, {label_of(self.policy)}, {counts})"

    # Arms and features that come and go

    def add_arms(self, arms: Any, labels: Iterable[Label] | None = None) -> None:
        """Puts new arms behind those there are, with `labels` if the others have some.

        With a feature map `arms` are as the map takes them: for `disjoint` a label, several, or without
        labels how many; for `interactions` rows of features; for `joined` arms of any kind, or one text; for
        `hybrid` as its shared map takes them.

        What was learnt tells of them at once; an arm with a regression of its own begins with nothing, and
        the others keep all they have learnt. Exploring may try them, also where `allowed` forbids others.

        >>> from infex import Bandit, Greedy, features
        >>> shop = Bandit(features=features.disjoint(["tea", "coffee"], context_dim=2), policy=Greedy())
        >>> shop.add_arms(["oolong", "mate"])
        >>> _ = shop.remove_arms("coffee")
        >>> shop.labels
        ('tea', 'oolong', 'mate')
        """
        with self._lock:
            self._replace_arms(*self._own_arms().added(arms, labels))

    def remove_arms(self, which: object) -> Reshaping:
        """Takes the arms in `which` away, by label where arms have labels, else by index.

        What was learnt stays; that of an arm with a regression of its own (`disjoint`) goes with the arm.
        What its rewards have told of features that arms share (`hybrid`) stays.

        Indices close up behind them. A pending decision for a removed arm can still be told: its reward is
        learnt on the arm's features. Where the arm had a regression of its own nothing is learnt from it,
        also if an arm of the same label has come since. What is returned says where the others are now.
        """
        with self._lock:
            before = self._own_arms()
            if self._agent.info.learners:
                raise InvalidArms(f"{safe_repr(self.policy)} knows arms by their indices, which would change")
            after, stay = before.removed(which)
            if isinstance(before, Mapped) and isinstance(after, Mapped):
                after.add_removal(self.t, stay, before.features.count, self._pending.oldest)
            self._replace_arms(after, stay)
            removed = ArmsRemoved.of(stay, before)
            self._pending.change(removed.on)
            if self._history is not None:
                self._history.change(removed.on)
            self._track_pending(self.narrows)
            if self._log is not None:
                with contextlib.suppress(StoreFailed):  # the next row says it again
                    self._write_rows(
                        []
                    )  # the log shows that arms went, also if others come before the next row
            return removed

    def _replace_arms(self, arms: Fixed | Mapped, places: Integers) -> None:
        agent, before, layout = self._agent, self._agent.model, arms.layout
        if isinstance(arms, Fixed) or isinstance(layout, PerArm):
            agent.replace_model(before.rearranged(layout, places))
        else:  # one regression for a map knows no arms
            assert before.pulls is not None
            agent.replace_model(before.with_pulls(np.where(places >= 0, before.pulls[places], 0)))
        self._replication = self._replication.move(before, agent.model, places)
        per_arm = isinstance(layout, PerArm)
        agent.policy_state = (without_parameters if per_arm else without_arms)(agent.policy_state)
        self._arms = arms
        agent.account.changes += 1

    def _own_arms(self) -> Fixed | Mapped:
        if not isinstance(self._arms, Fixed | Mapped):
            raise InvalidArms("the arms change every round: there are none to add to or remove")
        return self._arms

    def extend(
        self,
        more: int | None = None,
        *,
        numbers: Numbers = NONE_GIVEN,
        categories: Categories = NONE_GIVEN,
        longest: float | None = None,
    ) -> Reshaping:
        """Adds features to contexts or arms: what was learnt stays, as if they had been 0 before.

        Contexts of a `features.table` get further `numbers` and `categories`, given as there; a category
        that is there gets further values. Contexts that are plain vectors, and arms, get so many `more`
        features behind the others, and contexts may have another `longest`. Fixed arms have 0 there. A
        reward that is told later for an earlier decision is learnt with 0 there. What is returned says where
        the features are now that there were before.

        >>> from infex import Bandit, Greedy, features
        >>> visitor = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]})
        >>> bandit = Bandit(features=features.disjoint(["tea", "coffee"], context=visitor), policy=Greedy())
        >>> _ = bandit.extend(numbers={"visits": (0, 10)}, categories={"country": ["IT"]})
        >>> bandit.names
        ('intercept', 'age', 'visits', 'country=FR', 'country=DE', 'country=IT')
        """
        with self._lock:
            agent, before, narrows = self._agent, self._agent.model, self.narrows
            if agent.info.learners:
                raise InvalidSetting(
                    f"{safe_repr(self.policy)} keeps a state of its own, of the features there are"
                )
            arms, widening = extended(self._arms, more, numbers, categories, longest)
            added, prior = FeaturesAdded(widening), self._prior.over(widening.scale)
            kept = {name: array for name, array in before.arrays().items() if name != "columns"}
            estimator = rescaled(self._estimator, prior.unit)
            model = ModelState.empty(arms.layout, prior.inside, before.explored is not None, estimator)
            model.restore(widening.arrays(kept))
            model.pulls = before.pulls
            policy_state = added.policy_state(agent.policy_state)
            if policy_state is not None and restore_state(self.policy, policy_state, arms.dim) is None:
                raise NotKept(
                    f"{safe_repr(self.policy)} keeps a state that cannot be brought to more features"
                )
            self._replication = self._replication.restart(before, model)
            agent.replace_model(model)
            agent.policy_state, self._arms, self._prior = policy_state, arms, prior
            agent.account.changes += 1
            self._pending.change(added.on)
            if self._history is not None:
                self._history.change(added.on)
            self._track_pending(narrows)
            return added

    # What others have learnt

    def changes(self) -> Changes:
        """What this bandit has learnt by itself since the last call, as sums, for others to `apply`.

        So workers that began with the same file or copy add up without counting anything twice. What it was
        given by others is not in it. The number of each reward in the life of its bandit
        is: the same changes a second time are ignored, those that come out of order or in part are refused.
        What is not passed on yet is saved with the bandit. Not for estimators whose rewards count by their
        order, or one by one.
        """
        with self._lock:
            self._refuse_learners()
            deltas = self._replication.take(self._ids.name, self._agent.model)
            return Changes(self._problem(), deltas)

    def apply(self, changes: Changes) -> int:
        """Takes in what another bandit on the same problem has learnt: how many rewards were new here.

        `changes` is what its own `changes()` gave. All of it is taken in, or nothing. The clock and
        the count of explorations stay this bandit's own.
        """
        if not isinstance(changes, Changes):
            raise CannotMerge(f"a bandit applies what `changes` gave, got {safe_repr(changes)}")
        with self._lock:
            self._refuse_learners()
            model, name = self._agent.model, self._ids.name
            taught = taught_of(changes.problem.get("taught", []))
            new = new_deltas(changes, self._problem(), self._replication, name, model)
            for delta in new:
                self._replication.add(delta, model)
                model.add_statistics(delta.statistics)
                self._agent.account.mark_stale()
            self._taught = self._taught + taught if new else self._taught
            return sum(last - first for delta in new for first, last in delta.spans.values())

    def _refuse_learners(self) -> None:
        if self._agent.info.learners:
            raise CannotMerge(f"{safe_repr(self.policy)} keeps a state of its own, which does not add up")

    def _problem(self) -> dict[str, Any]:
        """What sums are of, as plain data: another bandit takes them in if it is of the same."""
        layout, model = self._arms.layout, self._agent.model
        return shape_of(layout, model) | {
            "estimator": describe(self._estimator) if model.searches else None,
            "features": describe(self.features),
            "labels": None if self.labels is None else list(self.labels),
            "rows": [] if isinstance(layout, PerArm) else self.arms.tolist(),
            "rewards": None if self.rewards is None else list(self.rewards),
            "taught": list(self._taught.hashes),
        }

    # Logs

    def log_to(self, path: str | os.PathLike[str] | None) -> None:
        """Writes all further decisions and rewards to the log at `path`, behind what is there; None: nowhere.

        As `Bandit(log=...)` does, for a bandit that was loaded, copied or forked off, which has none. A row
        says what was on offer, why, and with what probabilities; `save` brings it to the disk, too.
        """
        with self._lock:
            log = None if path is None else DecisionLogger(path)
            if self._log is not None:
                self._log.close()
            self._log = log

    def _log_and_apply(self, request: Request, record: DecisionRecord, rows: list[LogRow]) -> None:
        """Applies a decision of a batch; its row, if there is a log, shows the posterior it was taken on."""
        if self._log is not None:
            rows.append(self._log_row(request, record))
        self._apply(record, warm_start=False)

    def _log_row(self, request: Request, record: DecisionRecord) -> LogRow:
        """The row of a decision that is not applied yet."""
        return row_of(self._arms, request, record, self._base_propensities(request, record.decision))

    def _write_rows(self, rows: list[LogRow]) -> None:
        assert self._log is not None
        self._log.write((self._ids.name, self._agent.account.changes), self.log_header(), rows)

    def log_header(self) -> Any:
        """What is true of all rows of a log of this bandit, until its arms or its policy change."""
        settings = self.penalty, self._seed, self._estimator, self._rule.range
        return header_of(self._arms, self.policy, *settings)

    def _base_propensities(self, request: Request, decision: Decision) -> Floats | None:
        """The probability of every arm of a round that explored, where it is known."""
        if not decision.explored or decision.base_propensity is None:
            return None
        if decision.base_propensity == 1.0:
            offer = self._arms.offer(request).columns if isinstance(self._arms, Changing) else None
            found = np.zeros(arm_count(self._arms, offer.T if isinstance(offer, np.ndarray) else None))
            found[decision.arm] = 1.0
            return found
        if request.offered is not None:
            return None
        offered = self._arms.offer(request)
        posterior = self._agent.posterior(offered.columns, offered.allowed)
        known = base_propensities(self.policy, decision.t, posterior)
        return known if known is not None and known[decision.arm] == decision.base_propensity else None

    @property
    def taught(self) -> Fingerprint:
        """By which logs it was taught: marks of logs that it was given to learn from."""
        return self._taught

    @taught.setter
    def taught(self, taught: Fingerprint) -> None:
        self._taught = taught

    def has_learnt_from(self, log: Log) -> bool:
        """Does the log hold rewards of the bandit's own past, or of instances whose rewards it was given?"""
        if log.stream is None:
            return False
        past, given = self._ids.after(self.t), self._replication.known
        for name in set(log.stream.tolist()):
            mine = log.rewarded & (log.stream == name)
            if mine.any() and (name in given or int(log.round[mine].min()) <= past.get(name, 0)):
                return True
        return False

    def resume(self, last: int, rounds: Integers, different: Bools, losses: Floats) -> None:
        """Counts the rounds of a log up to its last as the bandit's own: clock, explorations, and their cost.

        `rounds` are those that explored, `losses` what each cost, and `different` says which of them played
        another arm than the greedy one.
        Refused where a control has to remember more of them than that.
        """
        with self._lock:
            info = self._agent.info
            if any(controlled_schedule.controls for controlled_schedule in info.controlled_schedules):
                raise InvalidSetting(
                    "the controls around this schedule remember what no log holds: begin its rounds anew, as "
                    "fresh"
                )
            explorations = list(zip(rounds.tolist(), losses.tolist(), strict=True))
            counts = float(losses.sum()), int(np.count_nonzero(different))
            self._agent.account.resume(last, explorations, *counts, info.controlled_schedule is not None)

    # Journals

    def pending_entries(self) -> Iterator[PendingEntry]:
        """The pending decisions, oldest first, each with what its reward will be learnt on."""
        with self._lock:
            yield from self._pending

    def enter_erased(
        self,
        t: int,
        explored: bool,
        schedule_status: ScheduleStatus | None,
        loss: float,
        different: bool,
        policy_state: Any,
    ) -> None:
        """Applies a round of which nothing but its counts is left: no reward will be told.

        `t`, `explored`, `schedule_status`, `loss`, `different` and `policy_state` are those of the
        `DecisionRecord` there was.
        """
        with self._lock:
            if t != self.t + 1:
                raise InvalidRound(f"round {t} was erased, and round {self.t + 1} is next")
            check_schedule_status(
                Choice(0, explored, schedule_status=schedule_status), self._agent.account.owed
            )
            self._agent.apply(
                t, explored, schedule_status, loss, different, self._checked_policy_state(policy_state, t)
            )

    def correction(
        self, decision: Decision, reward: float, weight: float, on: DesignRow | None = None
    ) -> Correction:
        """What must be known of a reward that is about to be told, if it may be corrected later.

        Of a pending `decision`, or of one that was dropped, whose `reward` of this `weight` is learnt `on`
        that.
        """
        with self._lock:
            model = self._agent.model
            row = self._pending_entry(decision.id).on if on is None else on
            return Correction(
                model.effective_weight(row, reward, weight),
                model.observation_numbers(row, decision.explored),
            )

    def correct(
        self,
        decision: Decision,
        arm: int,
        on: DesignRow,
        before: float | None,
        after: float,
        learnt: Correction,
    ) -> None:
        """Replaces a reward that was learnt as `before` (None: nothing was learnt) by `after`.

        The state is then as if `after` had been told at first. `arm` is where the arm of the `decision` is
        now, GONE (-1) if it was removed, `on` what its reward is learnt on now, and `learnt` what
        `correction` gave before the reward was told.
        """
        with self._lock:
            self.refuse_reward(after)
            if before is not None:
                self._revise(
                    Revision(on, before, after, learnt.counted, learnt.numbers[0]), learnt.numbers[1]
                )
                return
            self._agent.learn(arm, on, after, decision.explored, learnt.counted)
            pulls = self._agent.model.pulls
            if pulls is not None and arm != GONE:
                pulls[arm] += 1

    def refuse_reward(self, reward: float) -> None:
        """Refuses a reward that is out of the bandit's range, or that its estimator cannot take in."""
        self._rule.number(reward)
        self._agent.model.all.check_reward(reward)

    def silence_reward_warnings(self) -> None:
        """Stops warnings of large rewards: on replay, whoever told them was warned."""
        self._rule.follow(None)

    # Files and copies

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bandit to one file at `path`, in the place of an older one; pending decisions too."""
        with self._lock:
            archive.write(path, *self._parts().content())
            if self._log is not None:
                self._log.sync()

    def to_bytes(self) -> bytes:
        """All of the bandit, as the file would hold it that `save` writes."""
        with self._lock:
            return archive.to_bytes(*self._parts().content())

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        policy: Policy | None = None,
        *,
        estimator: Estimator | None = None,
        features: FeatureMap | None = None,
        adopt: bool = False,
    ) -> Bandit:
        """The bandit that was saved at `path`, which goes on exactly as the saved one would have.

        Give the `policy` if it is a class or function of your own, which a file cannot hold. So too
        the `estimator`, and the `features` if they are `joined` by a function, or a map of your own.
        What differs from what the file names is refused, unless you say `adopt=True`: then it takes
        over, as far as it can go on from what was learnt.
        """
        return Bandit._of(Parts.restored(path, *archive.read(path), policy, estimator, features, adopt))

    @staticmethod
    def from_bytes(
        content: bytes,
        policy: Policy | None = None,
        *,
        estimator: Estimator | None = None,
        features: FeatureMap | None = None,
    ) -> Bandit:
        """The bandit whose `to_bytes` gave this `content`, which goes on exactly as that one would have.

        `policy`, `estimator` and `features` must be given again where they hold code of yours.
        """
        header, arrays = archive.from_bytes(content)
        return Bandit._of(Parts.restored("a snapshot", header, arrays, policy, estimator, features, False))

    @staticmethod
    def _of(parts: Parts) -> Bandit:
        bandit = Bandit.__new__(Bandit)
        bandit._assemble(parts)
        return bandit

    def digest(self) -> str:
        """A short text that is the same for bandits in the same state: all they decide, learn and count.

        Ids that are not yours do not count, nor does who wrote a file. Of a policy, estimator or map of your
        own its class counts, and its settings if it is a dataclass.
        """
        with self._lock:
            return self._parts().digest()

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock and the log; a copy is another instance, whose ids are its own."""
        with self._lock:
            kept = {name: value for name, value in vars(self).items() if name not in NOT_COPIED}
            kept["_ids"] = Ids(self._ids.after(self.t))
            kept["_replication"] = self._replication.successor(self._ids.name, self._agent.model)
            return copy.deepcopy(kept)

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._ids = Ids(self._ids.past)  # a pickle may be loaded twice
        self._draws, self._lock = Rounds(self._seed, STREAM), threading.RLock()
        self._log = None  # a log is that of one bandit
        _ALIVE.add(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = type(self).__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other

    def __copy__(self) -> Self:
        """A copy shares nothing: two bandits that learn into one state would both be wrong."""
        return copy.deepcopy(self)

    def _after_fork(self) -> None:
        """In a process that was forked off: whoever held the lock is not there to open it again."""
        self._lock = threading.RLock()
        before = self._ids.name
        self._ids.of_round(self.t + 1)  # which makes a new name
        self._replication = self._replication.successor(before, self._agent.model)


_ALIVE: weakref.WeakSet[Bandit] = weakref.WeakSet()


def _after_fork() -> None:
    for bandit in _ALIVE:
        bandit._after_fork()


with contextlib.suppress(AttributeError):  # a system without fork
    os.register_at_fork(after_in_child=_after_fork)


def _request(
    arms: npt.ArrayLike | None,
    labels: Iterable[Label] | None,
    context: object,
    allowed: npt.ArrayLike | None,
    offered: object,
    explore: object,
) -> Request:
    if arms is labels is context is allowed is offered is None and explore is True:
        return NOTHING_ASKED
    return Request(arms, labels, context, allowed, offered, explore)


def _id_of(decision: Decision | str | int) -> str:
    """The id of a decision, given as it was or by its id; a whole number is an id of digits."""
    if isinstance(decision, Decision):
        return decision.id
    if isinstance(decision, str):
        return decision
    return str(whole("the id of a decision", decision, error=UnknownDecision))


def _refuse_other(decision: Decision | str | int, mine: Decision) -> None:
    """Refuses a decision that is another than the bandit's own under the same id."""
    if isinstance(decision, Decision) and mine is not decision and mine != decision:
        raise UnknownDecision(
            f"the pending decision {mine.id!r} is of round {mine.t} and arm {mine.arm}; what was given is of "
            f"round {decision.t} and arm {decision.arm}: of another bandit, or told already under the same id"
        )


def _fits_schedule(info: PolicyInfo, has: bool) -> bool:
    """Can a policy's choice have a schedule status, or none? With a schedule it has; a built-in only then."""
    if info.controlled_schedule is not None:
        return has
    return not (has and info.built_in and not info.controlled_schedules)


def _table(
    labels: Labels, estimates: Floats, low: Floats, high: Floats, pulls: Integers | None
) -> np.recarray[Any, Any]:
    count = len(estimates)
    columns: dict[str, Any] = {
        "label": np.array([None] * count if labels is None else labels, dtype=object),
        "estimate": estimates,
        "low": low,
        "high": high,
        "pulls": np.zeros(count, dtype=np.int64) if pulls is None else pulls,
    }
    return np.rec.fromarrays(list(columns.values()), names=list(columns))  # type: ignore[call-overload, no-any-return]
