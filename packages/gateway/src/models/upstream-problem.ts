import { errorText, type Redactor } from "@deltawire/agent";
import type { Upstream } from "../relay/upstream.ts";
import type { DiscoveryStanding } from "./discovery.ts";

/** Why nobody can be sure of an answer of this upstream, in words that may be shown; undefined: nothing is known against it. */
export function upstreamProblem(
  { config, health }: Upstream,
  standing: DiscoveryStanding,
  redactor: Redactor,
): string | undefined {
  const { apiKey, apiKeyVariable } = config;
  if (apiKeyVariable !== undefined && apiKey === undefined)
    return `${apiKeyVariable} is not set where the gateway runs`;
  const { keyProblem, lastError, lastBadAt = 0, lastGoodAt = 0 } = health;
  if (keyProblem !== undefined) return keyProblem.message;
  if (standing.is === "failed" && lastGoodAt < standing.at)
    return errorText(standing.why, redactor);
  return lastBadAt > lastGoodAt ? lastError?.message : undefined;
}
