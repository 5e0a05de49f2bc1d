/**
 * Studies that a service of infex has, asked from a browser or from Node.
 *
 * It needs nothing but fetch. Requests carry keys, so each may be sent until it is answered.
 */

import type {
  AmendmentRequest,
  ArchiveAnswer,
  CorrectionRequest,
  DecisionAnswer,
  DecisionRequest,
  ErasureAnswer,
  ErasureRequest,
  LearntAnswer,
  ExplainAnswer,
  NewArms,
  NewFeatures,
  RefusalAnswer,
  RewardAnswer,
  RewardRequest,
  StudyAnswer,
  StudyRequest,
  VerdictAnswer,
} from "./types.js";

export type * from "./types.js";

const FIRST_PAUSE = 0.05; // seconds
const LONGEST_PAUSE = 2.0;
const LONG_WORK = 600; // seconds that a service may take for what reads a whole journal
const LONGEST_PATIENCE = 1_000_000; // timers of browsers overflow beyond 24 days
const MOST_FALLBACKS = 100_000; // keys that are remembered
const SENT_AGAIN: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
const FALLBACK_REASON = "fallback: the service did not answer";
const DEFAULT_REASON = `${FALLBACK_REASON}, and the default was played`;

/** An arm: its label, or its number where arms have no labels. */
export type Label = string | number;

/** Numbers and texts by name; what they are depends on the study. */
export type Figures = Readonly<Record<string, unknown>>;

/**
 * A decision. If `fallback` is true, nobody decided it, and no reward may be told of it.
 *
 * A fallback plays the last greedy arm heard of among those offered, or else the request's default; `reason`
 * says which. It has round 0, no estimate and no probability. Its `arm` is null if a default is the label of an
 * arm whose number was never heard of.
 */
export type Decision =
  | (DecisionAnswer & { readonly fallback: false })
  | ({ readonly [Field in keyof DecisionAnswer]: DecisionAnswer[Field] | null } & {
      readonly key: string;
      readonly round: 0;
      readonly explored: false;
      readonly reason: string;
      readonly fallback: true;
    });

/** What a request for a decision may say beside its key; `default` is the arm to be played if nobody answers. */
export interface AskOptions extends Omit<DecisionRequest, "key"> {
  default?: Label | null;
}

/** What a request for many decisions may say: `contexts` are as many as the keys, all else is the same for all. */
export interface AskManyOptions extends Omit<AskOptions, "context"> {
  contexts?: ReadonlyArray<DecisionRequest["context"]>;
}

/** How long is waited for what may read a whole journal; 600 seconds if it is not said. */
export interface LongWork {
  seconds?: number;
}

/** Why a study is changed, for its journal, and the key under which that is made once; a key is made up otherwise. */
export type Why = Pick<AmendmentRequest, "reason" | "key">;

export interface ClientOptions {
  /** One of `infex token make`. Do not send one to browsers: see the README. */
  token?: string;
  /** How long a request may take in all, sent again as often as there is time. */
  seconds?: number;
  /** After a decision for which there was no answer, further ones fall back at once for so many seconds. */
  rest?: number;
  /** Is an arm to be played when the service does not answer? If not, ServiceSilent is thrown. */
  fallback?: boolean;
  /** Seconds since some moment; another one in tests. */
  clock?: () => number;
  /** Waits for so many seconds; in tests it need not. */
  pause?: (seconds: number) => Promise<void>;
}

/**
 * What was refused, and why. `error` is its name, such as "AnotherRequest" or "InvalidSetting"; `status` is that
 * of the response, and null where there was none.
 */
export class InfexError extends Error {
  readonly status: number | null;
  readonly error: string;
  readonly field: string | null;
  readonly value: string | null;
  readonly expected: string | null;

  constructor(refusal: RefusalAnswer, status: number | null = null) {
    super(refusal.message);
    this.name = this.error = refusal.error;
    this.status = status;
    this.field = refusal.field ?? null;
    this.value = refusal.value ?? null;
    this.expected = refusal.expected ?? null;
  }
}

/** The service did not answer in time, or said that it cannot now. What was asked may take effect all the same. */
export class ServiceSilent extends InfexError {
  /** After how many seconds the service wants to be asked again, if it said so. */
  readonly retryAfter: number | null;

  constructor(message: string, status: number | null = null, retryAfter: number | null = null) {
    super({ error: "ServiceSilent", message }, status);
    this.retryAfter = retryAfter;
  }
}

/**
 * Studies of the service at `url`. In a browser `url` may be a path of the page's own site.
 *
 * A request that is not answered is sent again, with growing pauses, for up to `seconds` (2). Requests have keys,
 * so that none takes effect twice.
 *
 * With `fallback` (true), `ask` and `askMany` then play the greedy arm heard of last in this study among those that
 * the request offers, or else its `default`, and say so; ServiceSilent is thrown if there is neither. For the next
 * `rest` (5) seconds they do so at once, without sending anything. Later ones still do so at once, while the client
 * asks whether the service is ready; when it is, one request is sent, and its answer ends the outage. So an outage
 * costs those `seconds` once, and not each time.
 *
 *     const pricing = new Client("http://localhost:8321", { token }).study("pricing");
 *     const decision = await pricing.ask("order-1841", { context: { age: 45, country: "FR" } });
 *     await pricing.tell("order-1841", 0.7);
 */
export class Client {
  readonly #transport: Transport;
  readonly #patience: Patience;
  readonly #fallback: boolean;
  readonly #outages = new Map<string, Outage>();

  constructor(url: string, options: ClientOptions = {}) {
    const { token, seconds = 2, rest = 5, fallback = true, clock = systemClock, pause = systemPause } = options;
    refuseSeconds(seconds);
    if (!(rest >= 0)) throw invalid(`rest must be 0 or more, got ${rest}`);
    this.#patience = { seconds, rest, clock, pause };
    this.#fallback = fallback;
    this.#transport = new Transport(url, token, this.#patience);
  }

  /** The study of a name; nothing is sent yet. What was heard of it is the same for all that have it. */
  study(name: string): Study {
    let outage = this.#outages.get(name);
    if (outage === undefined) {
      outage = new Outage(this.#transport, this.#patience);
      this.#outages.set(name, outage);
    }
    return new Study(name, this.#transport, this.#fallback ? outage : null);
  }

  /** Begins a study, or finds it, if it has these settings. */
  async open(name: string, settings: Omit<StudyRequest, "name">): Promise<Study> {
    await this.#transport.call("POST", "/v1/studies", { body: { name, ...settings } });
    return this.study(name);
  }

  /** The names of all studies. */
  async studies(): Promise<string[]> {
    return (await this.#transport.call<StudyAnswer[]>("GET", "/v1/studies")).map((study) => study.name);
  }
}

/** One study of a service; `Client.study` makes it. */
export class Study {
  readonly name: string;
  readonly #path: string;
  readonly #transport: Transport;
  readonly #outage: Outage | null;

  constructor(name: string, transport: Transport, outage: Outage | null) {
    this.name = name;
    this.#path = `/v1/studies/${encodeURIComponent(name)}`;
    this.#transport = transport;
    this.#outage = outage;
  }

  /**
   * The decision of a key, on disk; without a key one is made up, to be found in `decision.key`.
   *
   * If the service does not answer in time, the greedy arm heard of last among those `offered` is played, or else
   * `default`. Of `arms` that a request brings none was heard of. `decision.fallback` says so, and its reward is
   * not to be told. `allowed` is about exploring alone, so a fallback does not look at it.
   */
  async ask(key?: string | null, options: AskOptions = {}): Promise<Decision> {
    const { context, ...rest } = options;
    const [decision] = await this.#decide([key ?? madeUpKey()], [context], rest, true);
    return decision!;
  }

  /**
   * The decisions of many keys in one request, all on disk. Without an answer each is decided as `ask` does it then,
   * with the same `default` for all.
   */
  async askMany(keys: readonly string[], options: AskManyOptions = {}): Promise<Decision[]> {
    const { contexts = keys.map(() => null), ...rest } = options;
    if (contexts.length !== keys.length) {
      throw invalid(`contexts must be as many as the keys, ${keys.length}, got ${contexts.length}`);
    }
    return this.#decide(keys, contexts, rest, false);
  }

  async #decide(
    keys: readonly string[],
    contexts: ReadonlyArray<DecisionRequest["context"]>,
    options: Omit<AskOptions, "context">,
    one: boolean,
  ): Promise<Decision[]> {
    const { default: fallback = null, ...rest } = options;
    const offer = offerOf(rest, fallback);
    const before = keys.map((key) => this.#outage?.known(key));
    const rows = keys
      .map((key, place): DecisionRequest => ({ key, context: contexts[place] ?? undefined, ...rest }))
      .filter((_, place) => before[place] === undefined);
    const send = async (): Promise<DecisionAnswer[]> => {
      const path = `${this.#path}/decisions`;
      if (one) return [await this.#transport.call<DecisionAnswer>("POST", path, { body: rows[0] })];
      return this.#transport.call<DecisionAnswer[]>("POST", path, { body: rows });
    };
    const outage = "played" in rest ? null : this.#outage; // where an arm was played, there is none to play
    let answers: DecisionAnswer[] = [];
    if (rows.length > 0) {
      try {
        answers = await (outage === null ? send() : outage.call(send, offer));
      } catch (error) {
        const decisions = error instanceof ServiceSilent ? outage?.decide(keys, offer) : null;
        if (!decisions) throw error;
        return decisions;
      }
    }
    const heard = answers.map((answer): Decision => ({ ...answer, fallback: false })).values();
    answers.forEach((answer) => this.#outage?.hear(answer, offer));
    return before.map((known) => known ?? heard.next().value!);
  }

  /**
   * Tells a reward, exactly once, however often it is sent; the state of the decision then. Where rewards add up, a
   * `part` that has a name counts once, also in another call; without one a name is made up for this call. The reward
   * of a fallback is not sent, and "fallback" returned: the service may have decided otherwise.
   */
  async tell(key: string, reward: number, options: Omit<RewardRequest, "key" | "reward"> = {}): Promise<string> {
    if (this.#outage?.known(key)) return "fallback";
    return (await this.#post<RewardAnswer>("rewards", { key, reward, ...options, part: options.part ?? madeUpKey() })).state;
  }

  /** Tells many rewards in one request, but for those of fallbacks; the state of each. */
  async tellMany(keys: readonly string[], rewards: readonly number[]): Promise<string[]> {
    if (rewards.length !== keys.length) {
      throw invalid(`rewards must be as many as the keys, ${keys.length}, got ${rewards.length}`);
    }
    const rows = keys
      .map((key, place) => ({ key, reward: rewards[place], part: madeUpKey() }))
      .filter(({ key }) => !this.#outage?.known(key));
    const answers = rows.length > 0 ? await this.#post<RewardAnswer[]>("rewards", rows) : [];
    const states = new Map(answers.map((each) => [each.key, each.state]));
    return keys.map((key) => states.get(key) ?? "fallback");
  }

  /** Puts a reward right that was told, or taken by default; the state of the decision then. */
  async correct(key: string, reward: number, options: Pick<CorrectionRequest, "reason"> = {}): Promise<string> {
    return (await this.#post<RewardAnswer>("corrections", { key, reward, ...options })).state;
  }

  /** Erases all that is kept of a unit; how many entries that was. */
  async forget(unit: string, options: Pick<ErasureRequest, "reason"> & LongWork = {}): Promise<number> {
    const { seconds = LONG_WORK, ...rest } = options;
    return (await this.#post<ErasureAnswer>("erasures", { unit, ...rest }, seconds)).erased;
  }

  /**
   * Learns all rewards of a log, a file of Parquet or CSV, before the first decision; how many they are. `arm`, `reward`
   * and `unit` name its columns.
   */
  async learnFrom(log: Blob, options: { arm?: string; reward?: string; unit?: string } & LongWork = {}): Promise<number> {
    const { seconds = LONG_WORK, ...columns } = options;
    return (await this.#post<LearntAnswer>(`log?${new URLSearchParams(columns)}`, log, seconds)).rows;
  }

  /** Moves all entries of the journal but the newest `keep` into files beside the database; how many. */
  async archive(keep: number, options: LongWork = {}): Promise<number> {
    return (await this.#post<ArchiveAnswer>("archive", { keep }, options.seconds ?? LONG_WORK)).archived;
  }

  /** How far the reward of a decision has come. */
  async state(key: string): Promise<string> {
    return (await this.#get<RewardAnswer>(`/decisions/${encodeURIComponent(key)}`)).state;
  }

  /** The figures of the study. */
  async metrics(): Promise<Figures> {
    return (await this.#get<StudyAnswer>("")).figures;
  }

  /**
   * Why a decision was taken, as plain data; it is sent once. With `contents` it shows the context and the unit, for
   * which the token needs the scope `export` too.
   */
  async explain(key: string, options: { prove?: boolean; contents?: boolean } & LongWork = {}): Promise<Figures> {
    const { prove = true, contents = false, seconds } = options;
    const path = `/explain/${encodeURIComponent(key)}?prove=${prove}&contents=${contents}`;
    return (await this.#readJournal<ExplainAnswer>(path, seconds)).why;
  }

  /** What replaying the whole journal finds; `checkpoint` is that of a verdict from before. It is sent once. */
  async verify(options: { checkpoint?: string } & LongWork = {}): Promise<VerdictAnswer> {
    const { checkpoint, seconds } = options;
    return this.#readJournal(checkpoint ? `/verify?checkpoint=${encodeURIComponent(checkpoint)}` : "/verify", seconds);
  }

  /** What the study gains over those held out, with its interval, or why there is none; it is sent once. */
  async lift(options: LongWork = {}): Promise<Figures> {
    return this.#readJournal("/lift", options.seconds);
  }

  /** All decisions with their rewards as a log in Parquet, as it comes; it is sent once. */
  async exportLog(options: LongWork = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#readJournal("/export", options.seconds, stream);
  }

  /** Changes the study: all that is asked, or nothing. However often it is sent, it is made once. */
  async amend(changes: AmendmentRequest): Promise<void> {
    await this.#post("amendments", { ...changes, key: changes.key ?? madeUpKey() });
  }

  /** Puts new arms behind those there are: rows of features, labels, or how many, as the study's are. */
  async addArms(arms: NewArms["arms"], options: Why & Pick<NewArms, "labels">): Promise<void> {
    const { labels, ...why } = options;
    await this.amend({ ...why, add_arms: { arms, labels } });
  }

  /** Takes arms away, by label or number. */
  async removeArms(arms: readonly Label[], why: Why): Promise<void> {
    await this.amend({ ...why, remove_arms: arms });
  }

  /** Adds features to contexts or arms: `more`, or `numbers`, `categories`, `longest`. */
  async extend(features: NewFeatures, why: Why): Promise<void> {
    await this.amend({ ...why, extend: features });
  }

  /** Skips all explorations that are due from now on, until `resume`. */
  async pause(reason: string, options: Pick<Why, "key"> = {}): Promise<void> {
    await this.amend({ reason, ...options, explore: false });
  }

  /** Goes on with exploring as the policy says. */
  async resume(reason: string, options: Pick<Why, "key"> = {}): Promise<void> {
    await this.amend({ reason, ...options, explore: true });
  }

  #get<T>(path: string): Promise<T> {
    return this.#transport.call("GET", this.#path + path);
  }

  #post<T>(path: string, body: unknown, seconds?: number): Promise<T> {
    return this.#transport.call("POST", `${this.#path}/${path}`, { body, seconds });
  }

  #readJournal<T>(path: string, seconds = LONG_WORK, read?: Read<T>): Promise<T> {
    return this.#transport.call("GET", this.#path + path, { seconds, once: true, read });
  }
}

type Patience = Required<Pick<ClientOptions, "seconds" | "rest" | "clock" | "pause">>;

type Read<T> = (answer: Response) => Promise<T>;

/** What a request sends, how long it may take in all, whether it is sent once alone, and what is read of its answer. */
interface Call<T> {
  readonly body?: unknown;
  readonly seconds?: number;
  readonly once?: boolean;
  readonly read?: Read<T>;
}

/** Sends requests to `url` until they are answered. */
class Transport {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #patience: Patience;

  constructor(url: string, token: string | undefined, patience: Patience) {
    this.#url = checkedUrl(url);
    this.#headers = {
      accept: "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    this.#patience = patience;
  }

  /** The answer, as `read` gives it. Throws what was refused; ServiceSilent if no answer comes in time. */
  async call<T>(method: string, path: string, asked: Call<T> = {}): Promise<T> {
    const { clock, pause } = this.#patience;
    const { body, seconds = this.#patience.seconds, once = false, read = json } = asked;
    refuseSeconds(seconds);
    const data = body === undefined || body instanceof Blob ? body : JSON.stringify(plain(body));
    const end = clock() + seconds;
    let [tries, last] = [0, new ServiceSilent("no time")];
    for (let left = seconds; left > 0; left = end - clock()) {
      try {
        return await this.#send(method, path, data, left, read, once);
      } catch (error) {
        if (once || !(error instanceof ServiceSilent)) throw error;
        last = error;
      }
      tries += 1;
      const most = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (tries - 1));
      const wait = last.retryAfter ?? most * (0.5 + Math.random() / 2); // clients come back one by one
      await pause(Math.max(0, Math.min(wait, end - clock())));
    }
    throw new ServiceSilent(`${last.message} (sent ${tries} times in ${seconds} s)`, last.status, last.retryAfter);
  }

  /** Does the service answer that it can be used? Asked once; where a proxy knows no such address, it may be. */
  async isReady(): Promise<boolean> {
    try {
      return await this.#send("GET", "/readyz", undefined, this.#patience.seconds, async () => true, false);
    } catch (error) {
      return !(error instanceof ServiceSilent);
    }
  }

  async #send<T>(
    method: string,
    path: string,
    body: string | Blob | undefined,
    seconds: number,
    read: Read<T>,
    once: boolean,
  ): Promise<T> {
    const headers = body === undefined ? this.#headers : { ...this.#headers, "content-type": "application/json" };
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), 1000 * seconds);
    try {
      const answer = await fetch(this.#url + path, { method, body, headers, signal: ending.signal, redirect: "manual" });
      if (answer.status < 400) return await read(answer);
      const refused = await refusalIn(answer);
      if (once || !SENT_AGAIN.has(answer.status)) throw refused;
      const later = answer.headers.get("retry-after") ?? "";
      const words = `the service said ${answer.status}: ${refused.message}`;
      throw new ServiceSilent(words, answer.status, /^\d+$/.test(later) ? Number(later) : null);
    } catch (error) {
      if (error instanceof InfexError) throw error;
      if (ending.signal.aborted) throw new ServiceSilent(`no answer within ${seconds.toPrecision(3)} s`);
      throw new ServiceSilent(`no answer from ${this.#url}: ${reasonOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The body of an answer as plain data; ServiceSilent if no service gave it, but, say, a proxy. */
async function json<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  try {
    if (answer.ok) return JSON.parse(text) as T;
  } catch {
    // no JSON: a page of a proxy
  }
  throw notOurs(answer);
}

/** The body of an answer as it comes. */
async function stream(answer: Response): Promise<ReadableStream<Uint8Array>> {
  if (answer.ok && answer.body) return answer.body;
  throw notOurs(answer);
}

function notOurs(answer: Response): ServiceSilent {
  return new ServiceSilent(`no service of infex answered (status ${answer.status}): is the url right?`, answer.status);
}

async function refusalIn(answer: Response): Promise<InfexError> {
  const text = await answer.text();
  try {
    const refusal = JSON.parse(text) as RefusalAnswer;
    if (typeof refusal.error === "string" && typeof refusal.message === "string") {
      return new InfexError(refusal, answer.status);
    }
  } catch {
    // no JSON: a page of a proxy
  }
  return new InfexError({ error: "ServiceRefused", message: `status ${answer.status}` }, answer.status);
}

/** Where fetch fails, why: Node has the reason in `cause`, browsers do not tell. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  return cause?.code ?? name ?? "unknown";
}

/** What JSON can hold: what is missing (NaN under a name) as null, and no number that is not finite. */
function plain(value: unknown): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw invalid("numbers must be finite");
  }
  if (Array.isArray(value)) return value.map(plain);
  const prototype: unknown = typeof value === "object" ? Object.getPrototypeOf(value) : undefined;
  if (prototype !== Object.prototype && prototype !== null) {
    const kind = typeof value === "object" ? value.constructor.name : typeof value;
    throw invalid(`a request holds numbers, texts, arrays and plain objects, got a ${kind}`);
  }
  const given = Object.entries(value as object).filter(([, part]) => part !== undefined);
  return Object.fromEntries(given.map(([name, part]) => [name, Number.isNaN(part) ? null : plain(part)]));
}

function checkedUrl(url: string): string {
  const page = globalThis.location?.href;
  const parsed = URL.canParse(url, page) ? new URL(url, page) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.search || parsed.hash || parsed.username) {
    throw invalid(`url must be such as http://localhost:8321, got ${JSON.stringify(url)}`);
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, "");
}

function refuseSeconds(seconds: number): void {
  if (!(seconds > 0 && seconds <= LONGEST_PATIENCE)) {
    throw invalid(`seconds must be above 0, and at most ${LONGEST_PATIENCE}, got ${seconds}`);
  }
}

function invalid(message: string): InfexError {
  return new InfexError({ error: "InvalidSetting", message });
}

function madeUpKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is missing where a page came over http
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function systemClock(): number {
  return performance.now() / 1000;
}

function systemPause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}

/**
 * The arms that a request may be given: `names` is null for all arms of the study, `own` are the arms that the
 * request brings along, if it does.
 */
interface Offer {
  readonly names: readonly Label[] | null;
  readonly own: readonly Label[] | null;
  readonly fallback: Label | null;
}

function offerOf(request: DecisionRequest, fallback: Label | null): Offer {
  const own = request.arms ? (request.labels ?? [...request.arms.keys()]) : null;
  const names = request.offered ?? own;
  if (fallback !== null && typeof fallback !== "string" && !Number.isInteger(fallback)) {
    throw invalid(`default must be the label or the number of an arm, got ${String(fallback)}`);
  }
  if (fallback !== null && names !== null && !names.includes(fallback)) {
    throw invalid(`default must be one of the arms that are offered, got ${JSON.stringify(fallback)}`);
  }
  return { names, own, fallback };
}

interface Arm {
  readonly arm: number | null;
  readonly label: Label | null;
}

/**
 * What a client plays in one study while the service is away, and when it asks again (a circuit breaker).
 *
 * Calls go through until one has no answer; then they are refused at once. After `rest` seconds the next call is
 * refused at once as well, and the service is asked in the background, once, whether it is ready. If it is, one call
 * is let through. Its answer ends the outage; until then all others are refused. A call that has no fallback is let
 * through in place of that question: its caller has nothing to go on with.
 */
class Outage {
  readonly #transport: Transport;
  readonly #patience: Patience;
  readonly #greedy = new Map<Label, Arm>(); // the latest last
  readonly #decided = new Map<string, Decision>();
  #isAway = false;
  #mayTry = false;
  #nextProbe = 0;

  constructor(transport: Transport, patience: Patience) {
    this.#transport = transport;
    this.#patience = patience;
  }

  /** What `send` gives; ServiceSilent, at once, while the service is away. */
  async call<T>(send: () => Promise<T>, offer: Offer): Promise<T> {
    if (this.#isAway && !this.#mayTry && !this.#isTurn(offer)) {
      throw new ServiceSilent("the service is away, and is tried again after some seconds");
    }
    this.#mayTry = false;
    try {
      const answer = await send();
      this.#isAway = false;
      return answer;
    } catch (error) {
      this.#isAway = error instanceof ServiceSilent; // a refusal is an answer
      if (this.#isAway) this.#nextProbe = this.#patience.clock() + this.#patience.rest;
      throw error;
    }
  }

  /** May this call try the service? If it has a fallback, the service is asked in the background in its place. */
  #isTurn(offer: Offer): boolean {
    const now = this.#patience.clock();
    if (now < this.#nextProbe) return false;
    this.#nextProbe = now + this.#patience.rest;
    if (this.#chosen(offer) === null) return true;
    void this.#transport.isReady().then((ready) => {
      if (ready) this.#mayTry = true;
    });
    return false;
  }

  /** Remembers the arm of a decision of the service, if it is the greedy one among the study's arms. */
  hear(decision: DecisionAnswer, offer: Offer): void {
    if (decision.arm !== decision.greedy || offer.own !== null) return;
    const name = decision.label ?? decision.arm;
    this.#greedy.delete(name);
    this.#greedy.set(name, { arm: decision.arm, label: decision.label });
  }

  /** The decision that was taken here for this key, if one was. */
  known(key: string): Decision | undefined {
    return this.#decided.get(key);
  }

  /** Decisions in place of the service's; null if there is no arm to play. */
  decide(keys: readonly string[], offer: Offer): Decision[] | null {
    const chosen = this.#chosen(offer);
    if (chosen === null) return null;
    const decisions = keys.map((key): Decision => {
      const decision = this.#decided.get(key) ?? { ...NOT_DECIDED, key, ...chosen };
      this.#decided.set(key, decision);
      return decision;
    });
    for (const key of this.#decided.keys()) {
      if (this.#decided.size <= MOST_FALLBACKS) break;
      this.#decided.delete(key);
    }
    return decisions;
  }

  /** The arm to be played, as far as it is known, and why it is that one. */
  #chosen({ own, names, fallback }: Offer): (Arm & { greedy: number | null; reason: string }) | null {
    if (own === null) {
      for (const [name, heard] of [...this.#greedy].reverse()) {
        if (names === null || names.includes(name)) return { ...heard, greedy: heard.arm, reason: FALLBACK_REASON };
      }
    }
    if (fallback === null) return null;
    return { arm: this.#number(own, fallback), label: fallback, greedy: null, reason: DEFAULT_REASON };
  }

  /** The number of the default; null if it is a label whose number was never heard of. */
  #number(own: readonly Label[] | null, fallback: Label): number | null {
    if (own !== null) return own.includes(fallback) ? own.indexOf(fallback) : null;
    const heard = this.#greedy.get(fallback);
    if (heard !== undefined) return heard.arm;
    const haveLabels = [...this.#greedy.values()].some(({ label }) => label !== null);
    return typeof fallback === "number" && !haveLabels ? fallback : null;
  }
}

const NOT_DECIDED = {
  round: 0,
  explored: false,
  estimate: null,
  low: null,
  high: null,
  propensity: null,
  explore_probability: null,
  base_propensity: null,
  fallback: true,
} as const;
