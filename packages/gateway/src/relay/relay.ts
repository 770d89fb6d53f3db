import { withFlags, type Repairs } from "@deltawire/wire";
import type { Config } from "../config/config.ts";
import { KeptResponses } from "../history/kept-responses.ts";
import type { Lesson, Tried } from "../learning/lesson.ts";
import { lessonOf } from "../learning/lessons.ts";
import { withLesson } from "../learning/memory.ts";
import { Problem } from "../problem.ts";
import type { Envelopes } from "../reasoning/envelope.ts";
import { ReasoningKeeper } from "../reasoning/keeper.ts";
import { ReasoningCache } from "../reasoning/reasoning-cache.ts";
import type { FailedOutcome, Outcome } from "../upstream/failure.ts";
import { UpstreamClient, type Exchange, type RunOutcome } from "../upstream/upstream-client.ts";
import type { Upstream, UpstreamRequest } from "../upstream/upstream.ts";
import { sendForEachChoice } from "./choices.ts";
import { planFor, type ClientRequest, type Plan } from "./plan.ts";
import type { Receiver } from "./receiver.ts";
import { RelayedReply } from "./relayed-reply.ts";

/** A request whose reply is translated. */
export interface RelayedExchange extends Exchange {
  client: ClientRequest;
  receiver: Receiver;
}

/** Brings requests for replies to upstreams, in the words of each, and the replies back in the words of the client. */
export class Relay extends UpstreamClient {
  readonly #kept = new KeptResponses();
  readonly #keepers: ReadonlyMap<string, ReasoningKeeper>;

  constructor(
    config: Config,
    envelopes: Envelopes,
    env: Readonly<Record<string, string | undefined>>,
    beatMs?: number,
  ) {
    super(config, env, beatMs);
    const cache = new ReasoningCache();
    this.#keepers = new Map(
      [...config.upstreams.values()].map(({ name, baseUrl }) => [
        name,
        new ReasoningKeeper(baseUrl, envelopes, cache),
      ]),
    );
  }

  /** Throws a Problem where nothing has been sent; after that the client hears of a failure in its stream. */
  async run(exchange: RelayedExchange): Promise<RunOutcome> {
    let plan: Plan | undefined;
    try {
      return await this.request(exchange, (upstream, model, lessons) => {
        const known = this.#known(upstream, model, lessons);
        const made = (plan = this.#plan(exchange, upstream, model, known));
        return {
          send: (request, onContent) => this.#send(exchange, request, made, onContent),
          lessonFrom: (refusal) => lessonOf(refusal, { ...known, body: made.body }),
        };
      });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return this.#tellFailure(exchange, error, plan);
    }
  }

  /** How this upstream wants to be asked, as far as it is known. */
  #known({ config }: Upstream, model: string, lessons: readonly Lesson[]): Omit<Tried, "body"> {
    const { name, speaks } = config;
    let profile = this.lessons.profileFor(name, model, config.profile);
    let responses = this.lessons.responsesFor(name, model);
    for (const lesson of lessons) {
      profile = withFlags(profile, lesson.flags);
      responses = withLesson(responses, lesson.responses ?? {});
    }
    return { speaks, profile, responses };
  }

  #plan(
    { client, source }: RelayedExchange,
    { config }: Upstream,
    model: string,
    known: Omit<Tried, "body">,
  ): Plan {
    const reasoning = this.#keepers.get(config.name);
    if (reasoning === undefined) throw new TypeError(`no keeper for ${config.name}`);
    const { speaks, profile, responses: lesson } = known;
    const now = Math.floor(Date.now() / 1000);
    const [kept, { redactor }] = [this.#kept, this];
    const target = { speaks, model, profile, lesson, reasoning, kept, client: source.client };
    return planFor(client, target, redactor, now);
  }

  async #send(
    { client, receiver, signal, record }: RelayedExchange,
    request: UpstreamRequest,
    plan: Plan,
    onContent: (() => void) | undefined,
  ): Promise<Outcome> {
    receiver.clear();
    const headers = {
      "content-type": "application/json",
      accept: plan.streams ? "text/event-stream" : "application/json",
    };
    const call = { path: plan.path, headers, body: JSON.stringify(plan.body) };
    const sendOnce = (to: Receiver, until: AbortSignal): Promise<Outcome> =>
      request.send(call, {
        signal: until,
        reader: (connection) => new RelayedReply({ plan, receiver: to, connection, onContent }),
      });
    try {
      const choices = client.wire === "chat" ? (client.request.n ?? 1) : 1;
      if (choices === 1 || request.upstream.config.speaks === "chat")
        return await sendOnce(receiver, signal);
      const textOf = (outcome: FailedOutcome): string =>
        this.problemOf(outcome, request.upstream).message;
      return await sendForEachChoice(choices, { receiver, signal, sendOnce, textOf });
    } finally {
      record.repairs = plan.repairs.counts;
      record.droppedParameters = droppedParameters(plan.repairs);
    }
  }

  #tellFailure(
    { client, receiver, record }: RelayedExchange,
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
