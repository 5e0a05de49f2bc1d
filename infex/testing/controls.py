"""The contract of controls: what `Infex` relies on where one stands around its schedule."""

from infex.errors import InvalidChoice
from infex.policies import Choice, Control, Infex, Uniform
from infex.policies.choice import Turn, refuse_note
from infex.policies.gate import Gate
from infex.rounds import Player
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
        self._can_be_kept(Gate(self.make(every(2))).begin()[-1])
        for player, _ in self.rounds():
            self._can_be_kept(self.state_of(player))

    def _can_be_kept(self, state: object) -> None:
        assert isinstance(state, tuple), f"a state must be a (named) tuple, got {type(state).__name__}"
        try:
            refuse_note(state, of_infex=True)
        except InvalidChoice as error:
            raise AssertionError(f"a file could not hold the state {state}: {error}") from None

    def test_asking_it_changes_nothing(self) -> None:
        for player, _ in self.rounds():
            control, evidence, state = self.control_of(player), player.evidence(), self.state_of(player)
            t = player.account.t + 1
            first, again = (
                (
                    control.objects(t, evidence, state),
                    control.refuses(t, 0.5, evidence, state),
                    control.ends(evidence, state),
                    control.skipped(evidence, state),
                    control.explored(0.5, state),
                )
                for _ in range(2)
            )
            assert again == first, f"in round {t} it said {first}, then {again}"

    def test_it_gives_reasons_in_words(self) -> None:
        for player, _ in self.rounds():
            control, evidence, state = self.control_of(player), player.evidence(), self.state_of(player)
            t = player.account.t + 1
            for reason in (control.objects(t, evidence, state), control.refuses(t, 0.5, evidence, state)):
                assert reason is None or (isinstance(reason, str) and reason), f"{reason!r} is no reason"

    def test_no_round_explores_that_it_objects_to(self) -> None:
        for _, choice in self.rounds():
            if choice is not None:
                assert choice.explored == (choice.turn in (Turn.DUE, Turn.MADE_UP))
        player = self.player(problem(1, arms=5, dim=3, horizon=ROUNDS_OF_A_RUN))
        for t in range(1, ROUNDS_OF_A_RUN + 1):
            evidence = player.evidence()
            objection = self.control_of(player).objects(t, evidence, self.state_of(player))
            taken = player.decide(t, evidence, Rounds(3, "contract").at(t))
            assert not (objection and taken.choice.explored), f"round {t} explored in spite of {objection!r}"
            player.enter(taken)
            player.learn(taken.choice.arm, taken.on, 0.1, taken.choice.explored)

    def test_due_done_skipped_owed_and_dropped_add_up(self) -> None:
        for player, _ in self.rounds():
            found = player.exploration(player.evidence())
            assert found.planned == found.done - found.made_up + found.skipped, found
            assert found.skipped == found.made_up + found.owed + found.dropped, found

    def control_of(self, player: Player) -> Control:
        """The control in a player's gate."""
        gate = player.traits.gate
        assert gate is not None
        return gate.layers[-1]

    def state_of(self, player: Player) -> tuple[object, ...]:
        """What the control remembers."""
        gate = player.traits.gate
        assert gate is not None
        states = gate.begin() if player.note is None else player.note.states
        last: tuple[object, ...] = states[-1]
        return last

    def player(self, given: Problem) -> Player:
        """An Infex of uniform arms under the control, in every second round."""
        return player_for(Infex(Uniform(), self.make(every(2))), given.arms)

    def rounds(self) -> list[tuple[Player, Choice | None]]:
        """Players after runs of several lengths, none too, and what each chose last."""
        found: list[tuple[Player, Choice | None]] = []
        for seed, horizon in enumerate((0, 1, 2, 7, 40, ROUNDS_OF_A_RUN)):
            given = problem(seed, arms=6, dim=3, horizon=ROUNDS_OF_A_RUN)
            player, choice = self.player(given), None
            for t in range(1, horizon + 1):
                taken = player.decide(t, player.evidence(), Rounds(seed, "contract").at(t))
                player.enter(taken)
                choice = taken.choice
                player.learn(choice.arm, taken.on, given.reward(t, choice.arm), choice.explored)
            found.append((player, choice))
        return found
