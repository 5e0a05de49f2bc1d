"""Every error and warning of infex. Each error is also the built-in one that it refines."""

from dataclasses import FrozenInstanceError as _FrozenInstanceError


class InfexError(Exception):
    """The root of all errors that infex raises on purpose.

    `row` is the row of a batch that was refused, counted from 0; None where there was no batch. `field` is
    the one of an amendment that was refused; None of anything else.
    """

    row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        """The message as it was written (KeyError would put it in quotes)."""
        return Exception.__str__(self)


class InvalidSetting(InfexError, ValueError):
    """A setting of a policy, a schedule or a bandit is out of its range."""


class FrozenSettings(InfexError, _FrozenInstanceError):
    """An attribute of a built-in policy, schedule, estimator or problem was set: none can be changed."""


class InvalidRound(InfexError, ValueError):
    """A round, or the number of an exploration, is not a whole number in range."""


class OutOfReach(InfexError, OverflowError):
    """An exact answer would take too long."""


class InvalidArms(InfexError, ValueError):
    """The arms are not a finite (K, d) array of rows no longer than 1, or their labels do not fit."""


class InvalidContext(InfexError, ValueError):
    """A context is not what the feature map needs, is longer than it says, or goes with no map."""


class InvalidReward(InfexError, ValueError):
    """A reward is not a finite real number, or not one that the estimator can take in."""


class RewardOutOfRange(InvalidReward):
    """A reward is not in the range that was said to the bandit."""


class InvalidChoice(InfexError, ValueError):
    """A policy returned something else than an arm on offer."""


class UnknownArm(InfexError, KeyError):
    """No arm has this index or label."""


class UnknownDecision(InfexError, KeyError):
    """The bandit never took this decision."""


class DuplicateId(InfexError, ValueError):
    """A pending decision has this id already."""


class AlreadyTold(InfexError, ValueError):
    """The decision has its reward already, or was dropped."""


class NotRemembered(AlreadyTold):
    """A second reward came for a decision that the bandit does not remember any more."""


class NotKept(InfexError, RuntimeError):
    """What was asked for is not kept: exploring rounds apart, or sums that an estimator does not have."""


class StalePosterior(InfexError, RuntimeError):
    """Estimates or widths were read after the model had learnt, or decisions had come or gone, since."""


class CannotMerge(InfexError, ValueError):
    """Two bandits do not speak of the same problem, or what they learnt does not add up."""


class CannotCopy(InfexError, TypeError):
    """A policy, a problem or an estimator cannot be copied, and each run begins with a copy of it."""


class CannotSave(InfexError, TypeError):
    """A bandit holds what a file cannot."""


class CannotLoad(InfexError, TypeError):
    """A bandit cannot be read from a file without more, or something else, being said."""


class NoRecord(InfexError, TypeError):
    """A thing that is not built in, or holds a user's code, cannot be kept as a record."""


class InvalidRecord(InfexError, ValueError):
    """A record is not one of infex, or cannot be made here."""


class InvalidExpression(InfexError, ValueError):
    """A catalogue expression does not name a policy, a schedule or an estimator."""


class InvalidLog(InfexError, ValueError):
    """The rows of a log cannot be what a bandit did: a column, how many rows, and the first of them."""


class PartsDiffer(InvalidLog):
    """Parts of a log have other columns than its first part, so that no one table holds them."""


class InvalidTarget(InfexError, ValueError):
    """What a log is to judge gives no chances of arms: it learns, or they do not add up to 1."""


class NoSupport(InfexError, ValueError):
    """A log cannot judge this by weights: it could not play what the target plays in these rounds."""


class InvalidFile(InfexError, ValueError):
    """A file does not hold a bandit that can be read here."""


class ForeignFile(InvalidFile):
    """The file was not written by infex."""


class DamagedFile(InvalidFile):
    """The file was written by infex, and has been cut or changed since."""


class NewerFile(InvalidFile):
    """The file was written by a newer infex than this one."""


class ForeignFolder(InvalidSetting):
    """A folder that results are to go to has other contents."""


class StoreFailed(InfexError, OSError):
    """A disk is full, a file cannot be read or written, or a server does not answer."""


class StoreInUse(InfexError, RuntimeError):
    """Another process has the store open."""


class ForeignStore(InfexError, ValueError):
    """A database is not one of infex, or is one of a newer version."""


class DamagedJournal(InfexError, ValueError):
    """An entry of a journal is missing, or is not what was written."""


class JournalMoved(InfexError, RuntimeError):
    """Somebody else has appended to the journal: what was to follow does not follow any more."""


class UnknownStudy(InfexError, KeyError):
    """No study of this name is kept there, and no settings were given to begin one."""


class OtherSettings(InfexError, ValueError):
    """A study was opened with other settings than those in force."""


class AnotherRequest(InfexError, ValueError):
    """Something else was asked under a key that has its decision already."""


class InvalidBody(InfexError, ValueError):
    """The body of a request is not what its address takes: `field` is wrong, `expected` would be right.

    `value` is what was there, None where that is not known or is somebody's context.
    """

    def __init__(self, message: str, *, field: str, expected: str, value: str | None = None) -> None:
        super().__init__(message)
        self.field, self.expected, self.value = field, expected, value


class UnknownToken(InfexError, KeyError):
    """No token of this id is kept."""


class Overloaded(InfexError, RuntimeError):
    """More was asked at once than can be answered in time: the same again later is safe."""


class NotReady(InfexError, RuntimeError):
    """The service is opening its studies, or closes them: the same again later is safe."""


class ServiceRefused(InfexError, RuntimeError):
    """The service does not do this: `status`, `error`, `field` and `expected` are its words."""

    def __init__(
        self, message: str, *, status: int, error: str, field: str | None = None, expected: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.error, self.field, self.expected = status, error, field, expected


class ServiceSilent(InfexError, OSError):
    """The service did not answer in time, or said that it cannot now."""


class InfexWarning(UserWarning):
    """The root of all warnings of infex."""


class LargeReward(InfexWarning):
    """A reward is far beyond what the policy's `noise` and `bound` allow for."""


class FewExplorations(InfexWarning):
    """The schedule explores fewer times than there are parameters to learn."""


class UnevenFeatures(InfexWarning):
    """Some features are so much smaller than others that they would hardly be learnt."""


class SparseExploration(InfexWarning):
    """The schedule explores too rarely: f(t) is known not to be omega(log t), or few times in a horizon."""
