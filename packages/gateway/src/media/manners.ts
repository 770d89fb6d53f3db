import { wordsOf } from "../learning/refusal-words.ts";
import type { Upstream } from "../relay/upstream.ts";
import type { Manner, OwnParameter } from "./endpoint-call.ts";

/** What is known of the models of an upstream, for as long as it is in use. */
const known = new WeakMap<Upstream, Map<string, Manner>>();

const usual: Manner = { leftOut: new Set(), links: false };

export function mannerOf(upstream: Upstream, model: string): Manner {
  return known.get(upstream)?.get(model) ?? usual;
}

export function keepManner(upstream: Upstream, model: string, manner: Manner): void {
  const models = known.get(upstream) ?? new Map<string, Manner>();
  known.set(upstream, models.set(model, manner));
}

/** Which of our own parameters a refusal is about. If it is about something else, asking without it will say so again. */
export function refusedOwn(
  { status, body }: { status: number; body: unknown },
  own: ReadonlySet<OwnParameter>,
): OwnParameter | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const { text } = wordsOf(body);
  return [...own].find((parameter) => names[parameter].test(text));
}

const names: Record<OwnParameter, RegExp> = {
  stream: /\bstream(?:s|ed|ing)?\b|\bpartial_images\b/i,
  response_format: /\bresponse_format\b/i,
};
