import type { Agent, Model } from "@deltawire/agent";
import { ModelError } from "@deltawire/agent/basics";
import type { AccessKey } from "@deltawire/store";
import {
  estimateRequestTokens,
  type JsonObject,
  type ResponseEvent,
  type ResponseUsage,
} from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";
import type { AccessKeys } from "./access-keys.ts";
import { findAccessKeyProblem } from "./authenticator.ts";
import { UsageEstimate } from "./usage-estimate.ts";
import type { UsageMeter } from "./usage-meter.ts";

export interface MeteringServices {
  accessKeys: Pick<AccessKeys, "get" | "getTime">;
  usageMeter: Pick<UsageMeter, "assertModelAllowed" | "countsTokens" | "addModelUsage">;
}

export interface MeteredAgentOptions extends MeteringServices {
  getModel: (name: string) => Model;
}

/** Thrown if an access key may not be used for a model request, because it is over a limit, revoked or expired. */
export class AccessKeyRejectedError extends ModelError {}

/**
 * Returns the agent, and its sub-agents, with models whose usage counts toward the limits of an access key. Their requests fail
 * once the key is revoked, expired or used up. `isNew`: throws a GatewayError if the key may not be used for one of the models.
 */
export async function meterAgent(
  agent: Agent,
  keyId: string,
  { isNew, ...options }: MeteredAgentOptions & { isNew: boolean },
): Promise<Agent> {
  const key = isNew ? await options.accessKeys.get(keyId) : undefined;
  const metered = new Map<Agent, Agent & { agents: Agent[] }>();
  const meter = (entry: Agent): Agent => {
    const existing = metered.get(entry);
    if (existing !== undefined) return existing;
    if (key !== undefined) options.usageMeter.assertModelAllowed(key, getModelName(entry));
    const { model } = entry;
    const resolvedModel = typeof model === "string" ? () => options.getModel(model) : () => model;
    const meteredModel = meterModel(getModelName(entry), resolvedModel, keyId, options);
    const meteredAgent = { ...entry, model: meteredModel, agents: [] as Agent[] };
    metered.set(entry, meteredAgent);
    meteredAgent.agents.push(...entry.agents.map(meter));
    return meteredAgent;
  };
  return meter(agent);
}

/**
 * Returns a model whose usage counts toward the limits of an access key. Its requests fail with an AccessKeyRejectedError if the
 * key may not be used.
 */
export function meterModel(
  name: string,
  getModel: () => Model,
  keyId: string,
  { accessKeys, usageMeter }: MeteringServices,
): Model {
  return {
    name,
    async *stream(request, signal, report) {
      const model = getModel();
      const key = await loadUsableKey(keyId, accessKeys);
      try {
        usageMeter.assertModelAllowed(key, name);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        throw new AccessKeyRejectedError(error.code, error.message, { cause: error });
      }
      const estimate = usageMeter.countsTokens(key) ? new UsageEstimate() : undefined;
      let usage: ResponseUsage | undefined;
      try {
        for await (const events of model.stream(request, signal, report)) {
          usage ??= findUsage(events);
          estimate?.push(events);
          yield events;
        }
      } finally {
        // Servers report usage only at the end, but also charge for replies that fail or are aborted.
        const isCharged = estimate?.hasOutput === true || signal.aborted;
        usageMeter.addModelUsage(
          key,
          name,
          usage ?? (isCharged ? estimate?.build(estimateRequestTokens(request)) : undefined),
        );
      }
    },
  };
}

const finalTypes: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

function findUsage(events: readonly (ResponseEvent | JsonObject)[]): ResponseUsage | undefined {
  for (const event of events) {
    const { response } = event as { response?: { usage?: ResponseUsage | null } };
    if (response?.usage && finalTypes.has(event.type as string)) return response.usage;
  }
  return undefined;
}

function getModelName({ name, model }: Agent): string {
  return typeof model === "string" ? model : (model.name ?? name);
}

/** Throws an AccessKeyRejectedError if the key has been revoked or has expired, and a ModelError if it cannot be read. */
async function loadUsableKey(
  keyId: string,
  accessKeys: MeteringServices["accessKeys"],
): Promise<AccessKey> {
  let key: AccessKey | undefined;
  try {
    key = await accessKeys.get(keyId);
  } catch (cause) {
    throw new ModelError("store_unavailable", "the access key of this task cannot be checked", {
      retryable: true,
      cause,
    });
  }
  const problem =
    key === undefined
      ? "the access key of this task was removed"
      : findAccessKeyProblem(key, accessKeys.getTime());
  if (key !== undefined && problem === undefined) return key;
  throw new AccessKeyRejectedError("missing_token", `${problem}; the task cannot continue`);
}
