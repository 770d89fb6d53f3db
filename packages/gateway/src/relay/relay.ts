import { withProfileFlags, type JsonObject, type Repairs } from "@deltawire/wire";
import type { ApiName, Config, ModelTarget, UpstreamConfig } from "../config/config.ts";
import type { Lesson, RequestAttempt } from "../learning/lesson.ts";
import { deriveLesson } from "../learning/derive-lesson.ts";
import { mergeFlags } from "../learning/lesson-registry.ts";
import { GatewayError } from "../gateway-error.ts";
import type { EnvelopeCipher } from "../reasoning/envelope-cipher.ts";
import { ReasoningCarrier } from "../reasoning/reasoning-carrier.ts";
import { ReasoningCache } from "../reasoning/reasoning-cache.ts";
import type { FailedAttempt, AttemptOutcome } from "../upstream/attempt-outcome.ts";
import type { RequestSource } from "../upstream/request-source.ts";
import {
  UpstreamClient,
  type Exchange,
  type ExchangeOutcome,
} from "../upstream/upstream-client.ts";
import type { Upstream, UpstreamRequest } from "../upstream/upstream.ts";
import { toCapabilityRejection } from "./capability-rejection.ts";
import { fetchLinkedFiles } from "./fetch-linked-files.ts";
import { sendForEachChoice } from "./merge-choices.ts";
import { buildRelayPlan } from "./build-relay-plan.ts";
import type { ClientRequest, MessagesClientRequest } from "./client-request.ts";
import { limitOutputTokens } from "./limit-output-tokens.ts";
import type { PlannedReply, RelayPlan } from "./relay-plan.ts";
import type { ReplyReceiver } from "./receiver.ts";
import { RelayedReply } from "./relayed-reply.ts";

/** A request whose reply is translated. */
export interface RelayExchange extends Exchange {
  client: ClientRequest;
  receiver: ReplyReceiver;
  /** True if the caller sends a shorter request when the context window is exceeded: the error is then thrown, not streamed. */
  throwsIfTooLong?: boolean;
}

/** Translates requests to the wire of the upstream, and replies to the wire of the client. */
export class Relay extends UpstreamClient {
  readonly #reasoningCarriers: ReadonlyMap<string, ReasoningCarrier>;

  constructor(
    config: Config,
    envelopes: EnvelopeCipher,
    env: Readonly<Record<string, string | undefined>>,
    tickMs?: number,
  ) {
    super(config, env, tickMs);
    const cache = new ReasoningCache();
    this.#reasoningCarriers = new Map(
      [...config.upstreams.values()].map(({ name, baseUrl }) => [
        name,
        new ReasoningCarrier(baseUrl, envelopes, cache),
      ]),
    );
  }

  /**
   * Throws a GatewayError if nothing has been sent yet and the client does not need the error in a stream. Later failures are
   * reported in the stream.
   */
  async run(original: RelayExchange): Promise<ExchangeOutcome> {
    const exchange = this.#mayNeedLinkedFiles(original)
      ? await withLinkedFiles(original)
      : original;
    if (exchange === undefined) return "aborted";
    let plan: RelayPlan | undefined;
    try {
      return await this.request(exchange, (upstream, model, lessons) => {
        const behavior = this.#getKnownBehavior(upstream, model, lessons, exchange.client);
        const currentPlan = (plan = this.#buildPlan(exchange, upstream, model, behavior));
        return {
          send: (request, onContent) => this.#send(exchange, request, currentPlan, onContent),
          deriveLesson: (rejection) =>
            deriveLesson(rejection, { ...behavior, body: currentPlan.body }),
        };
      });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return this.#reportFailure(exchange, error, plan);
    }
  }

  /** Returns the API that is used for a model, as far as it is known. Undefined for an unknown upstream. */
  getApi(
    { upstream, model }: ModelTarget,
    client: Pick<ClientRequest, "wire">,
  ): ApiName | undefined {
    const config = this.upstreams.get(upstream)?.config;
    return this.lessons.getSpeaks(upstream, model) ?? (config && getInitialApi(config, client));
  }

  /** Returns a request as a Messages upstream receives it, with the lessons of its model: without thinking of other providers. */
  buildMessagesRequest(
    upstream: Upstream,
    model: string,
    exchange: { client: MessagesClientRequest; source: RequestSource },
  ): Pick<RelayPlan, "headers" | "body"> {
    const behavior = this.#getKnownBehavior(upstream, model, [], exchange.client);
    const options = { ...exchange, targets: [] };
    return this.#buildPlan(options, upstream, model, { ...behavior, speaks: "messages" });
  }

  /** True if all of these upstreams receive the requests of Responses clients in their own API. */
  forwardsResponses(targets: RelayExchange["targets"]): boolean {
    return targets.every((target) => this.getApi(target, { wire: "responses" }) === "responses");
  }

  /** True if the request of a Responses client may be sent to an upstream that loads no linked files. */
  #mayNeedLinkedFiles({ client, targets }: RelayExchange): boolean {
    return client.wire === "responses" && !this.forwardsResponses(targets);
  }

  /** Returns the API of a model and its flags, including the lessons of this request. */
  #getKnownBehavior(
    { config }: Upstream,
    model: string,
    lessons: readonly Lesson[],
    client: ClientRequest,
  ): Omit<RequestAttempt, "body"> {
    const { name, detectsApi } = config;
    const learnedApi = this.lessons.getSpeaks(name, model);
    const initialApi = getInitialApi(config, client);
    let speaks = learnedApi ?? initialApi;
    let apiSwitch = speaks === initialApi ? undefined : ("earlier" as "earlier" | "now");
    const triedApis: ApiName[] = [speaks];
    let profile = this.lessons.getProfile(name, model, config.profile);
    let responses = this.lessons.getResponsesFlags(name, model);
    let messages = this.lessons.getMessagesFlags(name, model, config.messagesFlags);
    let outputTokenLimit = this.lessons.getOutputTokenLimit(name, model);
    for (const lesson of lessons) {
      profile = withProfileFlags(profile, lesson.flags);
      responses = mergeFlags(responses, lesson.responses ?? {});
      messages = mergeFlags(messages, lesson.messages ?? {});
      outputTokenLimit = lesson.outputTokenLimit ?? outputTokenLimit;
      if (lesson.speaks !== undefined) {
        speaks = lesson.speaks;
        triedApis.push(speaks);
        apiSwitch = "now";
      }
    }
    const canSwitchApi = learnedApi === undefined && apiSwitch === undefined;
    return {
      speaks,
      profile,
      responses,
      messages,
      outputTokenLimit,
      canSwitchApi,
      apiSwitch,
      triedApis,
      detectsApi,
      clientApi: client.wire,
    };
  }

  #buildPlan(
    { client, source, targets }: Pick<RelayExchange, "client" | "source" | "targets">,
    { config }: Upstream,
    model: string,
    behavior: Omit<RequestAttempt, "body">,
  ): RelayPlan {
    const reasoningCarrier = this.#reasoningCarriers.get(config.name);
    if (reasoningCarrier === undefined)
      throw new TypeError(`no reasoning carrier for ${config.name}`);
    const { speaks, profile, responses: responsesFlags, messages: messagesFlags = {} } = behavior;
    const now = Math.floor(Date.now() / 1000);
    const target = {
      speaks,
      model,
      profile,
      responsesFlags,
      messagesFlags,
      reasoningCarrier,
      clientName: source.clientName,
    };
    const configuredLimit = targets.find(
      (candidate) => candidate.upstream === config.name && candidate.model === model,
    )?.maxOutputTokens;
    const limit = Math.min(configuredLimit ?? Infinity, behavior.outputTokenLimit ?? Infinity);
    const plan = buildRelayPlan(client, target, this.redactor, now);
    return limit === Infinity ? plan : limitOutputTokens(plan, limit);
  }

  async #send(
    { client, receiver, signal, record }: RelayExchange,
    request: UpstreamRequest,
    plan: RelayPlan,
    onContent: (() => void) | undefined,
  ): Promise<AttemptOutcome> {
    receiver.reset();
    const headers = {
      "content-type": "application/json",
      accept: plan.isStreamed ? "text/event-stream" : "application/json",
      ...plan.headers,
    };
    const sendBody = (
      body: JsonObject,
      planned: PlannedReply,
      replyReceiver: ReplyReceiver,
      requestSignal: AbortSignal,
    ): Promise<AttemptOutcome> =>
      request.send(
        { path: plan.path, headers, body: JSON.stringify(body) },
        {
          signal: requestSignal,
          createReader: (connection) =>
            new RelayedReply({
              ...planned,
              receiver: replyReceiver,
              connection,
              onContent,
              onHeaders: client.wire === "messages" ? client.onUpstreamHeaders : undefined,
            }),
        },
      );
    const sendOnce = async (
      replyReceiver: ReplyReceiver,
      requestSignal: AbortSignal,
    ): Promise<AttemptOutcome> => {
      const planned = plan.createReply();
      const { turn } = planned;
      let outcome = await sendBody(plan.body, planned, replyReceiver, requestSignal);
      for (;;) {
        if (turn?.isPaused !== true || outcome.type !== "answered") return outcome;
        const { body, reply } = turn.continue();
        outcome = await sendBody(body, { reply, turn }, replyReceiver, requestSignal);
        if (outcome.type === "answered" || outcome.type === "aborted" || !replyReceiver.hasSent)
          continue;
        const { code, message } = this.toGatewayError(outcome, request.upstream);
        const failure = { code, message };
        replyReceiver.end(turn.fail(failure), undefined, failure);
        outcome = { type: "answered", usage: reply.usage, failure };
      }
    };
    try {
      const choiceCount = client.wire === "chat" ? (client.request.n ?? 1) : 1;
      if (choiceCount === 1 || plan.path === "/chat/completions")
        return await sendOnce(receiver, signal);
      const formatFailure = (outcome: FailedAttempt): string =>
        this.toGatewayError(outcome, request.upstream).message;
      return await sendForEachChoice(choiceCount, { receiver, signal, sendOnce, formatFailure });
    } finally {
      record.repairs = plan.repairs.counts;
      record.droppedParameters = listDroppedParameters(plan.repairs);
    }
  }

  #reportFailure(
    { client, receiver, record, throwsIfTooLong = false }: RelayExchange,
    problem: GatewayError,
    plan: RelayPlan | undefined,
  ): ExchangeOutcome {
    record.failure = problem.code;
    const isStreamed = client.request.stream === true;
    if (client.wire === "messages") throw toCapabilityRejection(problem, client.request);
    if (throwsIfTooLong && problem.code === "context_length_exceeded" && !receiver.hasSent)
      throw problem;
    if (plan === undefined || !isStreamed || !isReportedInStream(client, problem)) throw problem;
    const { message, providerError } = problem;
    // With this code Codex stops and shows the message: only the user can fix the problem.
    const code = needsUserAction(problem) ? "invalid_prompt" : problem.code;
    const failure = { code, message, provider: providerError };
    receiver.end(plan.buildFailureEvents(failure), undefined, failure);
    return "answered";
  }
}

/**
 * Returns the API of the first request of a model. With `speaks = "auto"` a Messages client is first served by Messages, which
 * needs no translation; Chat is the API that almost every other server has.
 */
function getInitialApi(
  { speaks, detectsApi }: UpstreamConfig,
  { wire }: Pick<ClientRequest, "wire">,
): ApiName {
  return detectsApi && wire === "messages" ? "messages" : speaks;
}

/** Returns undefined if the client has disconnected. */
async function withLinkedFiles(exchange: RelayExchange): Promise<RelayExchange | undefined> {
  const { client, signal } = exchange;
  if (client.wire !== "responses") return exchange;
  try {
    const request = await fetchLinkedFiles(client.request, { signal });
    return request === client.request ? exchange : { ...exchange, client: { ...client, request } };
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Returns the names of dropped parameters. A detail may include the value, as in "reasoning.effort: max". */
function listDroppedParameters({ list }: Repairs): string[] {
  return list.flatMap(({ code, detail }) =>
    code === "parameter_dropped" ? [detail.split(":", 1)[0] ?? detail] : [],
  );
}

/**
 * True for errors that are sent as `response.failed`, for which Codex has its own messages. It shows the raw body of a 400, and
 * retries or hides other statuses.
 */
function isReportedInStream(client: ClientRequest, problem: GatewayError): boolean {
  const { code } = problem;
  if (client.wire !== "responses") return false;
  if (code === "context_length_exceeded") return true;
  return client.isCodex && (code === "insufficient_quota" || needsUserAction(problem));
}

/** True for a wrong key, a wrong URL, or a server that is not running: retries fail until the user has fixed it. */
function needsUserAction({ code, status, cause }: GatewayError): boolean {
  if (code === "upstream_circuit_open" && cause instanceof GatewayError)
    return needsUserAction(cause);
  if (status === 401 || status === 403) return true;
  return (
    code === "upstream_key_missing" ||
    code === "upstream_unreachable" ||
    code === "upstream_redirect" ||
    code === "upstream_web_page"
  );
}
