"""The contract of controls: what `Infex` relies on where one stands around its schedule."""

from infex.bandit.agent import Agent
from infex.errors import InvalidChoice
from infex.policies import Choice, Control, Infex, Uniform
from infex.policies.choice import ScheduleStatus, check_policy_state
from infex.policies.controls import ControlledSchedule
from infex.schedules import Schedule, every
from infex.streams import Rounds
from infex.testing.loop import player_for
from infex.testing.problems import Problem, problem

ROUNDS_OF_A_RUN = 120


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
                    control.refuses(t, 0.5, posterior, state),
                    control.ends(posterior, state),
                    control.after_skip(posterior, state),
                    control.after_exploring(0.5, state),
                )
                for _ in range(2)
            )
            assert again == first, f"in round {t} it said {first}, then {again}"

    def test_it_gives_reasons_in_words(self) -> None:
        for agent, _ in self.rounds():
            control, posterior, state = self.control_of(agent), agent.posterior(), self.state_of(agent)
            t = agent.account.t + 1
            for reason in (control.objects(t, posterior, state), control.refuses(t, 0.5, posterior, state)):
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
        controlled_schedule = agent.info.controlled_schedule
        assert controlled_schedule is not None
        return controlled_schedule.controls[-1]

    def state_of(self, agent: Agent) -> tuple[object, ...]:
        """What the control remembers."""
        controlled_schedule = agent.info.controlled_schedule
        assert controlled_schedule is not None
        states = (
            controlled_schedule.initial_states() if agent.policy_state is None else agent.policy_state.states
        )
        last: tuple[object, ...] = states[-1]
        return last

    def agent(self, given: Problem) -> Agent:
        """An Infex of uniform arms under the control, in every second round."""
        return player_for(Infex(Uniform(), self.make(every(2))), given.arms)

    def rounds(self) -> list[tuple[Agent, Choice | None]]:
        """Players after runs of several lengths, none too, and what each chose last."""
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
