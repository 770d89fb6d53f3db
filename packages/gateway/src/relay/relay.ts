import { errorText, type Redactor } from "@deltawire/agent";
import {
  WireError,
  withFlags,
  type RepairCode,
  type Repairs,
  type ResponseUsage,
  type UpstreamFailure,
} from "@deltawire/wire";
import type { Config, ModelTarget } from "../config/config.ts";
import { KeptResponses } from "../history/kept-responses.ts";
import { Problem } from "../problem.ts";
import type { Lesson, Tried } from "../learning/lesson.ts";
import { lessonOf } from "../learning/lessons.ts";
import { Lessons, withLesson } from "../learning/memory.ts";
import { RequestLessons } from "../learning/request-lessons.ts";
import type { Envelopes } from "../reasoning/envelope.ts";
import { ReasoningKeeper } from "../reasoning/keeper.ts";
import { ReasoningCache } from "../reasoning/reasoning-cache.ts";
import { redactorFor } from "../security/redactor.ts";
import { attempt } from "./attempt.ts";
import { attemptChoices } from "./choices.ts";
import { mayFallBack, problemOf, statusOf } from "./failure.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Outcome } from "./outcome.ts";
import { planFor, type ClientRequest, type Plan } from "./plan.ts";
import type { Receiver } from "./receiver.ts";
import type { RequestSource } from "./request-source.ts";
import { ConversationRetries, waited } from "./retry.ts";
import { Upstream, type UpstreamRequest } from "./upstream.ts";

export interface Exchange {
  client: ClientRequest;
  /** Tried in order. */
  targets: readonly ModelTarget[];
  receiver: Receiver;
  signal: AbortSignal;
  record: ExchangeRecord;
  source: RequestSource;
  /** The caller tries again by itself, and shows that it does: only quick retries are made here. */
  isRetriedByCaller?: boolean;
}

/** What the log tells of a request. */
export interface ExchangeRecord {
  upstream?: string;
  upstreamModel?: string;
  attempts: number;
  lessons: string[];
  /** Of the last attempt. */
  repairs: ReadonlyMap<RepairCode, number>;
  /** Names of the parameters that the last attempt left out. */
  droppedParameters?: readonly string[];
  usage?: ResponseUsage | undefined;
  /** Headers of the upstream that were not forwarded. */
  droppedHeaders?: readonly string[];
  failure?: string;
}

/** A request may teach this many things before it is given up: no server that we know refuses more. */
const mostLessons = 8;

/** Retries that take longer are left to a caller who shows them. */
const mostUnseenMs = 1_000;

export type RunOutcome = "answered" | "left";

/** Brings requests to upstreams and replies back: tries again, learns, falls back, all before the first byte. */
export class Relay {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly lessons = new Lessons();
  readonly redactor: Redactor;
  /** The listed model of an upstream that a mistyped name most likely means. */
  suggestModel: ((upstream: string, model: string) => string | undefined) | undefined;
  readonly #heartbeat: Heartbeat;
  readonly #kept = new KeptResponses();
  readonly #keepers: ReadonlyMap<string, ReasoningKeeper>;

  constructor(
    config: Config,
    envelopes: Envelopes,
    env: Readonly<Record<string, string | undefined>>,
    beatMs?: number,
  ) {
    this.#heartbeat = new Heartbeat(beatMs);
    const all = [...config.upstreams.values()];
    this.redactor = redactorFor(config);
    const conversations = new ConversationRetries();
    this.upstreams = new Map(
      all.map((each) => [each.name, new Upstream(each, env, conversations)]),
    );
    const cache = new ReasoningCache();
    this.#keepers = new Map(
      all.map(({ name, baseUrl }) => [name, new ReasoningKeeper(baseUrl, envelopes, cache)]),
    );
  }

  /** Throws a Problem where nothing has been sent; after that the client hears of a failure in its stream. */
  async run(exchange: Exchange): Promise<RunOutcome> {
    let last: { problem: Problem; plan: Plan | undefined } | undefined;
    let unmade: WireError | Problem | undefined;
    for (const target of exchange.targets) {
      const tried = await this.#tryTarget(exchange, target);
      if (typeof tried === "string") return tried;
      if (tried instanceof Error) {
        // One wire may not be able to say what another can.
        unmade ??= tried;
        continue;
      }
      last = tried;
      // What is wrong with the request itself is wrong everywhere.
      if (!mayFallBack(last.problem)) break;
    }
    if (last === undefined)
      throw unmade ?? new Problem("model_not_found", "no upstream serves this model");
    return this.#tellFailure(exchange, last.problem, last.plan);
  }

  async close(): Promise<void> {
    await Promise.all([...this.upstreams.values()].map((upstream) => upstream.close()));
  }

  async #tryTarget(
    exchange: Exchange,
    target: ModelTarget,
  ): Promise<RunOutcome | { problem: Problem; plan: Plan | undefined } | WireError | Problem> {
    const { record, signal, receiver } = exchange;
    const upstream = this.upstreams.get(target.upstream);
    if (upstream === undefined)
      return {
        problem: new Problem("model_not_found", `there is no upstream "${target.upstream}"`),
        plan: undefined,
      };
    record.upstream = target.upstream;
    record.upstreamModel = target.model;
    const requestLessons = new RequestLessons();
    let known = this.#known(upstream, target.model, requestLessons);
    // A request that cannot even be made says nothing of the upstream.
    let plan: Plan;
    try {
      plan = this.#plan(exchange, upstream, target.model, known);
    } catch (error) {
      if (error instanceof WireError || error instanceof Problem) return error;
      throw error;
    }
    const unusable = upstream.unusable(target.model, exchange.source);
    if (unusable !== undefined) return { problem: unusable, plan };
    const request = upstream.begin(target.model, exchange.source);
    let outcome: Outcome | undefined;
    let problem: Problem | undefined;
    // Other requests change only once the upstream has answered one that was changed so.
    const learn = (): void => {
      for (const lesson of requestLessons.takeProven())
        this.lessons.learn(target.upstream, target.model, lesson, Date.now());
    };
    const began = performance.now();
    const waitAfter = (failed: Outcome, tried: number): number | undefined => {
      if (exchange.isRetriedByCaller !== true) return request.waitAfter(failed, tried);
      if (performance.now() - began > mostUnseenMs) return undefined;
      const wait = request.waitAfter(failed, tried);
      return wait !== undefined && wait > mostUnseenMs ? undefined : wait;
    };
    try {
      for (let tried = 1; ; tried += 1) {
        record.attempts += 1;
        receiver.clear();
        outcome = undefined;
        const onAnswer = requestLessons.all.length === 0 ? undefined : learn;
        outcome = await this.#ask(exchange, request, plan, onAnswer);
        record.repairs = plan.repairs.counts;
        record.droppedParameters = droppedParameters(plan.repairs);
        if (outcome.is === "left") return "left";
        if (outcome.is === "answered") {
          const { usage, failure } = outcome;
          record.usage = usage;
          if (failure !== undefined) {
            record.failure = failure.code;
            problem = this.#brokenReply(failure, upstream);
          }
          return "answered";
        }
        const lesson =
          requestLessons.all.length < mostLessons
            ? this.#lessonFrom(outcome, { ...known, body: plan.body })
            : undefined;
        if (lesson !== undefined) {
          requestLessons.add(lesson);
          record.lessons.push(lesson.code);
          tried -= 1;
        }
        const wait = lesson === undefined ? waitAfter(outcome, tried) : 0;
        if (wait === undefined) {
          problem = this.#withSuggestion(
            problemOf(outcome, upstream.config, this.redactor, Date.now()),
            target,
          );
          return { problem, plan };
        }
        if (wait > 0 && !(await waited(wait, signal))) return "left";
        known = this.#known(upstream, target.model, requestLessons);
        plan = this.#plan(exchange, upstream, target.model, known);
      }
    } finally {
      request.finish(outcome, problem);
    }
  }

  /** How this upstream wants to be asked, as far as it is known. */
  #known({ config }: Upstream, model: string, requestLessons: RequestLessons): Omit<Tried, "body"> {
    const { name, speaks } = config;
    let profile = this.lessons.profileFor(name, model, config.profile);
    let responses = this.lessons.responsesFor(name, model);
    for (const lesson of requestLessons.all) {
      profile = withFlags(profile, lesson.flags);
      responses = withLesson(responses, lesson.responses ?? {});
    }
    return { speaks, profile, responses };
  }

  #plan(
    { client, source }: Exchange,
    { config }: Upstream,
    model: string,
    known: Omit<Tried, "body">,
  ): Plan {
    const reasoning = this.#keepers.get(config.name);
    if (reasoning === undefined) throw new TypeError(`no keeper for ${config.name}`);
    const { speaks, profile, responses: lesson } = known;
    const now = Math.floor(Date.now() / 1000);
    const kept = this.#kept;
    const target = { speaks, model, profile, lesson, reasoning, kept, client: source.client };
    return planFor(client, target, now);
  }

  #ask(
    exchange: Exchange,
    request: UpstreamRequest,
    plan: Plan,
    onAnswer: (() => void) | undefined,
  ): Promise<Outcome> {
    const { client, receiver, signal } = exchange;
    const { redactor } = this;
    const heartbeat = this.#heartbeat;
    const options = { request, plan, receiver, heartbeat, redactor, signal, onAnswer };
    const choices = client.wire === "chat" ? (client.request.n ?? 1) : 1;
    if (choices > 1 && request.upstream.config.speaks === "responses")
      return attemptChoices(options, choices);
    return attempt(options);
  }

  #lessonFrom(outcome: Outcome, tried: Tried): Lesson | undefined {
    if (outcome.is !== "refused") return undefined;
    const lesson = lessonOf({ status: outcome.status, body: outcome.body }, tried);
    return lesson && { ...lesson, said: errorText(lesson.said, this.redactor) };
  }

  /** A model that the upstream does not have may be one of those that it lists, mistyped. */
  #withSuggestion(problem: Problem, { upstream, model }: ModelTarget): Problem {
    const near = problem.status === 404 ? this.suggestModel?.(upstream, model) : undefined;
    if (near === undefined) return problem;
    const { code, message, ...more } = problem;
    return new Problem(code, `did you mean ${upstream}/${near}? ${message}`, more);
  }

  /** Undefined if the failure says nothing of the upstream: a context that is too long, a filter. */
  #brokenReply(failure: UpstreamFailure, { config }: Upstream): Problem | undefined {
    const outcome: Outcome = { is: "failed", failure };
    const status = statusOf(outcome);
    if (status > 0 && status < 500) return undefined;
    return problemOf(outcome, config, this.redactor, Date.now());
  }

  #tellFailure(
    { client, receiver, record }: Exchange,
    problem: Problem,
    plan: Plan | undefined,
  ): RunOutcome {
    record.failure = problem.code;
    const streams = client.request.stream === true;
    if (plan === undefined || !streams || !isToldInStream(client, problem)) throw problem;
    const { message, provider } = problem;
    // The word with which Codex stops at once and shows the message, for what only its user can mend.
    const code = isForTheUser(problem) ? "invalid_prompt" : problem.code;
    const failure = { code, message, provider };
    receiver.end(plan.failed(failure), undefined, failure);
    return "answered";
  }
}

/** Of "reasoning.effort: max", which says the value too, the name. */
function droppedParameters({ list }: Repairs): string[] {
  return list.flatMap(({ code, detail }) =>
    code === "parameter_dropped" ? [detail.split(":", 1)[0] ?? detail] : [],
  );
}

/**
 * Codex prints the raw body of a 400 and retries or hides other statuses; for these it has a text of its own, if they
 * come as `response.failed`.
 */
function isToldInStream(client: ClientRequest, problem: Problem): boolean {
  const { code } = problem;
  if (client.wire !== "responses") return false;
  if (code === "context_length_exceeded") return true;
  return client.codex && (code === "insufficient_quota" || isForTheUser(problem));
}

/** A key, an address, a server that is not running: trying again helps only after somebody has done something. */
function isForTheUser({ code, status, cause }: Problem): boolean {
  if (code === "upstream_circuit_open" && cause instanceof Problem) return isForTheUser(cause);
  if (status === 401 || status === 403) return true;
  return (
    code === "upstream_key_missing" ||
    code === "upstream_unreachable" ||
    code === "upstream_redirect" ||
    code === "upstream_web_page"
  );
}
