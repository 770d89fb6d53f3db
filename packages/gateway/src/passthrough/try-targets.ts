import type { ModelTarget } from "../config/config.ts";
import { Problem } from "../http/problem.ts";
import { mayFallBack, problemOf } from "../relay/failure.ts";
import type { ExchangeRecord, Relay } from "../relay/relay.ts";
import { waited } from "../relay/retry.ts";
import type { Upstream } from "../relay/upstream.ts";
import type { FailedForward, ForwardOutcome } from "./ask.ts";

export interface Tries {
  relay: Relay;
  signal: AbortSignal;
  record: ExchangeRecord;
}

/**
 * Asks the upstreams in order, each as often as its retries allow, until one has answered or the client has left. Throws the
 * last problem otherwise.
 */
export async function tryTargets(
  tries: Tries,
  targets: readonly ModelTarget[],
  ask: (upstream: Upstream, target: ModelTarget) => Promise<ForwardOutcome>,
): Promise<void> {
  let problem: Problem | undefined;
  for (const target of targets) {
    const upstream = upstreamOf(tries, target);
    const tried =
      upstream instanceof Problem
        ? upstream
        : await tryUpstream(tries, upstream, () => ask(upstream, target));
    if (tried === "over") return;
    problem = tried;
    if (!mayFallBack(problem)) break;
  }
  throw problem ?? new Problem("model_not_found", "no upstream serves this model");
}

/** Who is asked next, or why that one is not. */
export function upstreamOf(
  { relay, record }: Pick<Tries, "relay" | "record">,
  { upstream: name, model }: ModelTarget,
): Upstream | Problem {
  const upstream = relay.upstreams.get(name);
  if (upstream === undefined)
    return new Problem("model_not_found", `there is no upstream "${name}"`);
  record.upstream = name;
  if (model !== "") record.upstreamModel = model;
  const unusable = upstream.unusable();
  if (unusable !== undefined) return unusable;
  upstream.begin();
  return upstream;
}

async function tryUpstream(
  { relay, signal, record }: Tries,
  upstream: Upstream,
  ask: () => Promise<ForwardOutcome>,
): Promise<"over" | Problem> {
  for (let tried = 1; ; tried += 1) {
    record.attempts += 1;
    const outcome = noted(upstream, await ask());
    if (outcome.is === "answered" || outcome.is === "left") return "over";
    const wait = upstream.waitAfter(outcome, tried);
    if (wait === undefined) {
      upstream.note(outcome);
      upstream.lastProblem = problemFrom(outcome, upstream, relay);
      return upstream.lastProblem;
    }
    if (await waited(wait, signal)) continue;
    upstream.circuit.undecided(Date.now());
    return "over";
  }
}

/** What an outcome says of the upstream, where it is no failure: failures count when nothing more is tried. */
export function noted(upstream: Upstream, outcome: ForwardOutcome): ForwardOutcome {
  if (outcome.is === "answered") upstream.circuit.succeeded(Date.now());
  else if (outcome.is === "left") upstream.circuit.undecided(Date.now());
  return outcome;
}

export function problemFrom(
  outcome: FailedForward,
  { config }: Upstream,
  { secrets }: Relay,
): Problem {
  return problemOf(outcome, config, (text) => secrets.redact(text), Date.now());
}
