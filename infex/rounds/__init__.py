"""One round, as a bandit, a simulated run and a test play it: decide, enter, learn."""

from infex.rounds.account import Account, Exploration
from infex.rounds.player import Player, play_round
from infex.rounds.taken import Taken

__all__ = ["Account", "Exploration", "Player", "Taken", "play_round"]
