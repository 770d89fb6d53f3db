import type { ModelTarget } from "../config/config.ts";
import type { ResponseHistory } from "../history/response-history.ts";
import type { EnvelopeCipher } from "../reasoning/envelope-cipher.ts";
import type { Relay } from "../relay/relay.ts";
import type { BackgroundResponses } from "../responses/background-responses.ts";
import type { UsageMeter } from "../security/usage-meter.ts";
import type { IdempotentRequests } from "../tasks/idempotent-requests.ts";
import type { AgentRouteServices } from "./serve-agent.ts";

/** Dependencies of the handlers that send requests to models. */
export interface ModelRouteServices {
  relay: Relay;
  /** Stores responses, and adds those that a request refers to. */
  history: ResponseHistory;
  /** Runs responses with `background: true`. */
  background: BackgroundResponses;
  idempotentRequests: IdempotentRequests;
  /** Seals summaries of conversations. */
  summaries: Pick<EnvelopeCipher, "sealSummary">;
  /** Throws a GatewayError if no upstream serves the model. */
  resolveTargets: (model: string) => Promise<readonly ModelTarget[]>;
  /** Agents that can be used as models. `getServices` rejects if they cannot run. */
  agents?: { has(name: string): boolean; getServices(): Promise<AgentRouteServices> };
  /** Counts what access keys use. Undefined: there are no access keys. */
  usageMeter?:
    | Pick<UsageMeter, "assertModelAllowed" | "countsTokens" | "addModelUsage">
    | undefined;
}
