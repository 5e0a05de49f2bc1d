// Written by `make typescript` from the OpenAPI description of the service.

/** Why a request was refused: the field, its value unless that is private, and what would be right. */
export interface RefusalAnswer {
  error: string;
  message: string;
  field?: string | null;
  value?: string | null;
  expected?: string | null;
}

/**
 * Asks for a decision. The same key again gives the same decision; another request with it is refused.
 *
 * Without a key the header Idempotency-Key is the key.
 */
export interface DecisionRequest {
  /** Your own name for a decision, such as an order's. */
  key?: string | null;
  /** By the names of the study's features, or as numbers in their order. */
  context?: Readonly<Record<string, number | string | null>> | ReadonlyArray<number> | null;
  arms?: ReadonlyArray<ReadonlyArray<number>> | null;
  labels?: ReadonlyArray<string | number> | null;
  allowed?: ReadonlyArray<boolean> | null;
  /** What can be had now, by label or number. */
  offered?: ReadonlyArray<string | number> | null;
  /** May this one be explored on? */
  explore?: boolean;
  /** The arm that was played, of a study that is an apprentice. */
  played?: string | number | null;
  /** Whom it is about, such as a customer. */
  unit?: string | null;
}

/**
 * A decision that is on disk. `low` and `high` are null where the interval has no end.
 *
 * `round` counts from 1. `greedy` is the arm of the largest estimate among those offered, also where another
 * rule decided (`reason` "held out"); `estimate` is that of this arm. `propensity` is the probability of
 * this arm, `explore_probability` that of exploring, `base_propensity` that of this arm given that the round
 * explores; null where not known.
 */
export interface DecisionAnswer {
  key: string;
  round: number;
  arm: number;
  label: string | number | null;
  explored: boolean;
  reason: string;
  greedy: number;
  estimate: number;
  low: number | null;
  high: number | null;
  propensity: number | null;
  explore_probability: number | null;
  base_propensity: number | null;
}

/**
 * Tells the reward of a decision, exactly once: the same again changes nothing, another is refused.
 *
 * Without a key the header Idempotency-Key is the key of the decision.
 */
export interface RewardRequest {
  /** Your own name for a decision, such as an order's. */
  key?: string | null;
  reward: number;
  weight?: number;
  part?: string | null;
}

/** What has become of the reward of a decision: pending, rewarded, defaulted, late, corrected, erased. */
export interface RewardAnswer {
  key: string;
  state: string;
}

/** One of the latest decisions, without its context. */
export interface RecentDecision {
  key: string;
  round: number;
  arm: string;
  greedy: number;
  explored: boolean;
  different: boolean;
  reason: string;
  turn: string;
  estimate: number;
  low: number | null;
  high: number | null;
  probability: number | null;
  at: number;
  state?: string;
  reward?: number | null;
}

/** Why a decision was taken, and whether the journal gives it again. */
export interface ExplainAnswer {
  key: string;
  why: Readonly<Record<string, unknown>>;
}

/**
 * Whether the journal holds; if not, `entry` is the first that does not fit, and `why` says why not.
 *
 * Of `decisions`, `proven` were decided once more and came out the same; `unproven` rest on something that
 * was erased since. `checkpoint` is the end of the journal, to be kept elsewhere.
 */
export interface VerdictAnswer {
  holds: boolean;
  entry: number | null;
  why: string;
  entries: number;
  decisions: number;
  proven: number;
  unproven: number;
  checkpoint: string;
}

/** Puts the reward of a decision right; the same again changes nothing. */
export interface CorrectionRequest {
  /** Your own name for a decision, such as an order's. */
  key: string;
  reward: number;
  /** Why, for the journal. */
  reason?: string;
}

/** Erases all that is kept of a unit, but the keys and times of its decisions. */
export interface ErasureRequest {
  /** Whom it is about, such as a customer. */
  unit: string;
  /** Why, for the journal. */
  reason?: string;
}

/** How many entries were erased. */
export interface ErasureAnswer {
  erased: number;
}

/**
 * Changes a study, in one commit: all of it, or nothing.
 *
 * With a `key`, or the header Idempotency-Key, it is made once: the same again changes nothing, another
 * request under it is refused. Keys of amendments are not those of decisions. The changes are made in this
 * order: `remove_arms`, `extend`, `add_arms`, `allowed` (may exploring try this arm? one for each),
 * `pending`, `policy` (with its schedule and limits), `explore` (false pauses exploring, true goes on with
 * it), `freeze` (those held out get the greedy arm of the present state from now on), `apprentice` (false
 * lets a study decide that was one).
 */
export interface AmendmentRequest {
  /** Why, for the journal. */
  reason: string;
  /** Your own name for a decision, such as an order's. */
  key?: string | null;
  remove_arms?: ReadonlyArray<string | number> | null;
  extend?: NewFeatures | null;
  add_arms?: NewArms | null;
  allowed?: ReadonlyArray<boolean> | null;
  pending?: "ignore" | "narrow" | null;
  /** As in Python: Infex(LinUCB, every(50)). Or: What infex.to_record(...) gives. */
  policy?: string | Readonly<Record<string, unknown>> | null;
  explore?: boolean | null;
  freeze?: boolean;
  apprentice?: boolean | null;
}

/** Features that contexts or arms get: `more` of them, or further `numbers` and `categories` by name. */
export interface NewFeatures {
  more?: number | null;
  numbers?: Readonly<Record<string, readonly [number, number]>> | null;
  categories?: Readonly<Record<string, ReadonlyArray<string | number>>> | null;
  longest?: number | null;
}

/** Arms that come behind those there are: rows of features, labels, or how many, as the study's are. */
export interface NewArms {
  arms: number | ReadonlyArray<ReadonlyArray<number> | string | number>;
  labels?: ReadonlyArray<string | number> | null;
}

/** A study at a glance; `words` are its policy as a sentence, `rules` its settings that are of rewards. */
export interface StudyAnswer {
  name: string;
  policy: string;
  paused: boolean;
  arms: ReadonlyArray<string | number> | null;
  figures: Readonly<Record<string, unknown>>;
  words: string;
  rules: Readonly<Record<string, unknown>>;
}

/** How many rewards of a log the study has learnt. */
export interface LearntAnswer {
  rows: number;
}

/** Moves old entries of the journal into files beside the database, but the newest `keep`. */
export interface ArchiveRequest {
  keep: number;
}

/** How many entries were moved. */
export interface ArchiveAnswer {
  archived: number;
}

/** Asks how often a policy would explore, without changing anything. */
export interface PreviewRequest {
  /** As in Python: Infex(LinUCB, every(50)). Or: What infex.to_record(...) gives. */
  policy: string | Readonly<Record<string, unknown>>;
}

/**
 * How often a policy would explore in the next `rounds`; `basis` says why these are so many.
 *
 * `now` is what the policy in force would do. A number is null where the schedule does not tell.
 */
export interface PreviewAnswer {
  policy: string;
  rounds: number;
  basis: string;
  explorations: number | null;
  now: number | null;
}

/** Begins a study, with the settings of `infex.Study.open`. */
export interface StudyRequest {
  name: string;
  /** As in Python: Infex(LinUCB, every(50)). Or: What infex.to_record(...) gives. */
  policy: string | Readonly<Record<string, unknown>>;
  /** What infex.to_record(...) gives. */
  features?: Readonly<Record<string, unknown>> | null;
  arms?: ReadonlyArray<ReadonlyArray<number>> | null;
  labels?: ReadonlyArray<string | number> | null;
  dim?: number | null;
  /** As in Python: Infex(LinUCB, every(50)). Or: What infex.to_record(...) gives. */
  estimator?: string | Readonly<Record<string, unknown>> | null;
  allowed?: ReadonlyArray<boolean> | null;
  seed?: number;
  penalty?: number;
  /** Rewards beyond this range are refused. */
  rewards?: readonly [number, number] | null;
  rescale?: boolean;
  wait?: string | number | null;
  default?: number | null;
  again?: "refuse" | "sum";
  holdout?: number;
  /** "uniform" or "greedy". */
  holdout_policy?: string | HoldoutArm;
  /** Such as EUR: shown beside rewards. */
  reward_unit?: string;
  /** Units keep their arms, or for a time: "30 days". */
  sticky?: boolean | number | string;
  /** Nothing is decided before a log was learnt from. */
  awaits_log?: boolean;
  /** It learns from arms that are `played` elsewhere. */
  apprentice?: boolean;
}

/** The arm that all units get who are held out, by label or number. */
export interface HoldoutArm {
  arm: string | number;
}

/** Does it work? Everybody may ask, so that it tells nothing of the studies. */
export interface HealthAnswer {
  status: string;
  version: string;
}
