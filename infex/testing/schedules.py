"""The contracts of schedules, and of the controls that stand around one in `Infex`."""

import math

from infex.bandit.agent import Agent
from infex.errors import InvalidChoice
from infex.policies import Choice, Control, Infex, Uniform
from infex.policies.choice import ScheduleStatus, check_policy_state
from infex.policies.controls import ControlledSchedule
from infex.schedules import Schedule, every
from infex.streams import Rounds
from infex.testing.problems import Problem, agent_for, problem

FAR_AWAY = 10**12
ROUNDS_OF_A_RUN = 120


class ScheduleContract:
    """Tests for a schedule of your own: inherit, say how it is made, and run pytest.

    class TestMine(infex.testing.ScheduleContract):
        def make(self):
            return Mine()
    """

    far = FAR_AWAY  # a late round at which the schedule must still answer at once

    def make(self) -> Schedule:
        """The schedule."""
        raise NotImplementedError(f"{type(self).__name__} must say in `make` how its schedule is made")

    def test_the_count_rises_by_one_in_exploring_rounds(self) -> None:
        schedule = self.make()
        assert schedule.count(0) == 0
        for t in [*range(1, 3000), *range(self.far - 300, self.far)]:
            rise = schedule.count(t) - schedule.count(t - 1)
            assert rise == schedule.explores(t), f"count rises by {rise} in round {t}"

    def test_when_is_the_round_of_the_nth_exploration(self) -> None:
        schedule = self.make()
        for n in (1, 2, 3, 5, 8, 100, max(schedule.count(self.far), 1)):
            t = schedule.when(n)
            if t == math.inf:
                assert schedule.count(self.far) < n, f"when({n}) is inf, but {self.far} rounds hold as many"
            else:
                assert schedule.explores(int(t)), f"round {t} = when({n}) does not explore"
                assert schedule.count(int(t)) == n, (
                    f"count({t}) is {schedule.count(int(t))}, when({n}) is {t}"
                )

    def test_growth_is_known_or_said_to_be_unknown(self) -> None:
        assert self.make().grows in (True, False, None)

    def test_it_reads_well(self) -> None:
        assert " object at 0x" not in repr(self.make()), "give it a __repr__, for logs and tables"


class ControlContract:
    """Tests for a control of your own: inherit, say how it is made around a schedule, and run pytest.

    class TestMine(infex.testing.ControlContract):
        def make(self, schedule):
            return Mine(schedule)
    """

    def make(self, schedule: Schedule) -> Control:
        """The control around a schedule."""
        raise NotImplementedError(f"{type(self).__name__} must say in `make` how its control is made")

    def test_its_state_can_be_kept(self) -> None:
        self._can_be_kept(ControlledSchedule(self.make(every(2))).initial_states()[-1])
        for agent, _ in self.rounds():
            self._can_be_kept(self.state_of(agent))

    def _can_be_kept(self, state: object) -> None:
        assert isinstance(state, tuple), f"a state must be a (named) tuple, got {type(state).__name__}"
        try:
            check_policy_state(state, of_infex=True)
        except InvalidChoice as error:
            raise AssertionError(f"a file could not hold the state {state}: {error}") from None

    def test_asking_it_changes_nothing(self) -> None:
        for agent, _ in self.rounds():
            control, posterior, state = self.control_of(agent), agent.posterior(), self.state_of(agent)
            t = agent.account.t + 1
            first, again = (
                (
                    control.objects(t, posterior, state),
                    control.refuses(t, 1, posterior, state),
                    control.ends(posterior, state),
                    control.after_skip(posterior, state),
                    control.after_exploring(1, posterior, state),
                )
                for _ in range(2)
            )
            assert again == first, f"in round {t} it said {first}, then {again}"

    def test_it_gives_reasons_in_words(self) -> None:
        for agent, _ in self.rounds():
            control, posterior, state = self.control_of(agent), agent.posterior(), self.state_of(agent)
            t = agent.account.t + 1
            for reason in (control.objects(t, posterior, state), control.refuses(t, 1, posterior, state)):
                assert reason is None or (isinstance(reason, str) and reason), f"{reason!r} is no reason"

    def test_no_round_explores_that_it_objects_to(self) -> None:
        for _, choice in self.rounds():
            if choice is not None:
                assert choice.explored == (
                    choice.schedule_status in (ScheduleStatus.DUE, ScheduleStatus.MADE_UP)
                )
        agent = self.agent(problem(1, arms=5, dim=3, horizon=ROUNDS_OF_A_RUN))
        for t in range(1, ROUNDS_OF_A_RUN + 1):
            posterior = agent.posterior()
            objection = self.control_of(agent).objects(t, posterior, self.state_of(agent))
            step = agent.decide(t, posterior, Rounds(3, "contract").at(t))
            assert not (objection and step.choice.explored), f"round {t} explored in spite of {objection!r}"
            agent.apply(*step.effects)
            agent.learn(step.choice.arm, step.on, 0.1, step.choice.explored)

    def test_due_done_skipped_owed_and_dropped_add_up(self) -> None:
        for agent, _ in self.rounds():
            found = agent.exploration(agent.posterior())
            assert found.planned == found.done - found.made_up + found.skipped, found
            assert found.skipped == found.made_up + found.owed + found.dropped, found

    def control_of(self, agent: Agent) -> Control:
        """The control in an agent's schedule."""
        assert agent.info.controlled_schedule is not None
        return agent.info.controlled_schedule.controls[-1]

    def state_of(self, agent: Agent) -> tuple[object, ...]:
        """What the control remembers."""
        assert agent.info.controlled_schedule is not None
        states = agent.info.controlled_schedule.initial_states()
        last: tuple[object, ...] = (states if agent.policy_state is None else agent.policy_state.states)[-1]
        return last

    def agent(self, given: Problem) -> Agent:
        """An Infex of uniform arms under the control, in every second round."""
        return agent_for(Infex(Uniform(), self.make(every(2))), given.arms)

    def rounds(self) -> list[tuple[Agent, Choice | None]]:
        """Agents after runs of several lengths, 0 among them, and what each chose last."""
        found: list[tuple[Agent, Choice | None]] = []
        for seed, horizon in enumerate((0, 1, 2, 7, 40, ROUNDS_OF_A_RUN)):
            given = problem(seed, arms=6, dim=3, horizon=ROUNDS_OF_A_RUN)
            agent, choice = self.agent(given), None
            for t in range(1, horizon + 1):
                step = agent.decide(t, agent.posterior(), Rounds(seed, "contract").at(t))
                agent.apply(*step.effects)
                choice = step.choice
                agent.learn(choice.arm, step.on, given.reward(t, choice.arm), choice.explored)
            found.append((agent, choice))
        return found
