import type { ModelTarget } from "../config/config.ts";
import { Problem } from "../problem.ts";
import { mayFallBack, problemOf } from "../relay/failure.ts";
import type { Outcome } from "../relay/outcome.ts";
import type { ExchangeRecord, Relay } from "../relay/relay.ts";
import type { RequestSource } from "../relay/request-source.ts";
import { waited } from "../relay/retry.ts";
import type { Upstream, UpstreamRequest } from "../relay/upstream.ts";
import type { FailedForward, ForwardOutcome } from "./ask.ts";

export interface Tries {
  relay: Relay;
  signal: AbortSignal;
  record: ExchangeRecord;
  source: RequestSource;
}

/**
 * Asks the upstreams in order, each as often as its retries allow, until one has answered or the client has left. Throws the
 * last problem otherwise.
 */
export async function tryTargets(
  tries: Tries,
  targets: readonly ModelTarget[],
  ask: (request: UpstreamRequest, target: ModelTarget) => Promise<ForwardOutcome>,
): Promise<void> {
  let problem: Problem | undefined;
  for (const target of targets) {
    const request = beginRequest(tries, target);
    const tried =
      request instanceof Problem
        ? request
        : await tryUpstream(tries, request, () => ask(request, target));
    if (tried === "over") return;
    problem = tried;
    if (!mayFallBack(problem)) break;
  }
  throw problem ?? new Problem("model_not_found", "no upstream serves this model");
}

/** Returns a Problem if the upstream cannot be asked now. The request must be finished. */
export function beginRequest(
  { relay, record, source }: Pick<Tries, "relay" | "record" | "source">,
  { upstream: name, model }: ModelTarget,
): UpstreamRequest | Problem {
  const upstream = relay.upstreams.get(name);
  if (upstream === undefined)
    return new Problem("model_not_found", `there is no upstream "${name}"`);
  record.upstream = name;
  if (model !== "") record.upstreamModel = model;
  return upstream.unusable(model, source) ?? upstream.begin(model, source);
}

async function tryUpstream(
  { relay, signal, record }: Tries,
  request: UpstreamRequest,
  ask: () => Promise<ForwardOutcome>,
): Promise<"over" | Problem> {
  let finished: ForwardOutcome | undefined;
  let problem: Problem | undefined;
  try {
    for (let tried = 1; ; tried += 1) {
      record.attempts += 1;
      finished = undefined;
      const outcome = await ask();
      finished = outcome;
      if (outcome.is === "answered" || outcome.is === "left") return "over";
      const wait = request.waitAfter(outcome, tried);
      if (wait === undefined) {
        problem = problemFrom(outcome, request.upstream, relay);
        return problem;
      }
      if (!(await waited(wait, signal))) return "over";
    }
  } finally {
    request.finish(asOutcome(finished), problem);
  }
}

/** What a reply that was passed on says about the upstream. */
export function asOutcome(outcome: ForwardOutcome | undefined): Outcome | undefined {
  if (outcome?.is !== "answered") return outcome;
  if (outcome.failure !== undefined) return undefined;
  return { is: "answered", usage: undefined, failure: undefined };
}

export function problemFrom(
  outcome: FailedForward,
  { config }: Upstream,
  { redactor }: Relay,
): Problem {
  return problemOf(outcome, config, redactor, Date.now());
}
