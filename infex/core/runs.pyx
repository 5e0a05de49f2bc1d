"""What both loops of whole runs share: laws of rewards, and what a run leaves behind."""

import numpy as np

from libc.math cimport fabs


cdef class Outcome:
    """What a run leaves: regret and where it came from, explorations, how often each arm was played.

    `curve` is the regret at the `checkpoints`, which rise. With `record`, `arms`, `rewards` and `losses` are those of
    every round up to the `horizon`.
    """

    def __cinit__(self):
        self.steady = True

    cdef int _begin(self, Law law, int64_t arms, int64_t horizon, checkpoints, bint record) except -1:
        if arms < 1 or horizon < 1:
            raise ValueError(f"there must be an arm and a round to play, got {arms} and {horizon}")
        if not SIGN <= law <= TABLE:
            raise ValueError(f"there is no law of rewards {<int>law}")
        self.checkpoints = np.array(checkpoints, dtype=np.int64)
        check_rounds("checkpoints", self.checkpoints, 1, horizon)
        self.horizon, self.recorded, self.law = horizon, record, law
        rounds = horizon if record else 0
        self.curve, self.counts = np.zeros(self.checkpoints.shape[0]), np.zeros(arms, dtype=np.int64)
        self.arms, self.rewards, self.losses = np.zeros(rounds, np.int64), np.zeros(rounds), np.zeros(rounds)
        self._curve, self._counts, self._arms = self.curve, self.counts, self.arms
        self._rewards, self._losses = self.rewards, self.losses
        self.next_round = 1
        return 0

    cdef int check_next(self, int64_t first, int64_t last) except -1:
        """Refuses rounds that do not follow those played before."""
        if first != self.next_round or not first - 1 <= last <= self.horizon:
            raise ValueError(
                f"rounds {first} to {last} do not go on from round {self.next_round} of {self.horizon}"
            )
        return 0

    cdef const double[:, ::1] check_table(self, rewards, int64_t rounds):
        """The rewards of every arm in so many rounds, (rounds, K); nothing for a law that is drawn by the loop."""
        if self.law != TABLE:
            if rewards is not None:
                raise ValueError("rewards are given only where the law is TABLE")
            return np.zeros((0, 0))
        table = np.ascontiguousarray(rewards, dtype=np.float64)
        if table.shape != (rounds, self._counts.shape[0]):
            raise ValueError(f"rewards must be {(rounds, self._counts.shape[0])}, got {table.shape}")
        return table

    cdef void record(self, int64_t t, int64_t arm, double reward, double gap) noexcept nogil:
        """Keeps a round, if rounds are recorded."""
        if self.recorded:
            self._arms[t - 1], self._rewards[t - 1], self._losses[t - 1] = arm, reward, gap

    cdef void count(self, int64_t t, int64_t arm, bint explores, double gap, int64_t rounds) noexcept nogil:
        """Counts so many rounds of one arm, the last of which is round t."""
        cdef int64_t marks = self.checkpoints.shape[0]
        if arm != self.arm or explores != self.explores or not self.steady:
            self.flush()
            self.arm, self.explores = arm, explores
        self.gap = gap
        self.rounds += rounds
        if not self.steady:
            self.flush()
        while self.next_checkpoint < marks and self.checkpoints[self.next_checkpoint] < t:
            self.next_checkpoint += 1
        if self.next_checkpoint < marks and self.checkpoints[self.next_checkpoint] == t:
            self.flush()
            self._curve[self.next_checkpoint] = self.regret_greedy + self.regret_exploring
            self.next_checkpoint += 1

    cdef void flush(self) noexcept nogil:
        """Adds the equal rounds under way to counts and regret."""
        if self.rounds == 0:
            return
        self._counts[self.arm] += self.rounds
        if self.explores:
            self.regret_exploring += self.rounds * self.gap
            self.explored += self.rounds
        else:
            self.regret_greedy += self.rounds * self.gap
        if self.gap == 0.0:
            self.optimal += self.rounds
        self.rounds = 0


cdef int check_rounds(str name, const int64_t[::1] rounds, int64_t first, int64_t last) except -1:
    """Refuses rounds that do not rise from `first` to at most `last`."""
    cdef int64_t i, least = first
    for i in range(rounds.shape[0]):
        if not least <= rounds[i] <= last:
            raise ValueError(f"{name} must be rounds that rise, from {first} to {last}; got {rounds[i]} at index {i}")
        least = rounds[i] + 1
    return 0


cdef void set_gaps(const double *means, int64_t K, double *gaps) noexcept nogil:
    """What each mean falls short of the best: nothing within rounding."""
    cdef double top = means[0], slack
    cdef int64_t k
    for k in range(K):
        top = means[k] if means[k] > top else top
    slack = 1e-12 * (1.0 + fabs(top))
    for k in range(K):
        gaps[k] = 0.0 if top - means[k] <= slack else top - means[k]
