import type { RuntimeErrorCode } from "@deltawire/agent";
import { ChatError, PrivacyError } from "@deltawire/agent/basics";
import { quoteExcerpt } from "@deltawire/tasks";
import { GatewayError, type GatewayErrorCode } from "../gateway-error.ts";
import type { ToolsUnavailableError } from "./configured-agents.ts";

/** Converts errors of the runtime, of chats and of the store to GatewayErrors. Returns other errors unchanged. */
export function toTaskError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof GatewayError) return error;
  if (error instanceof ChatError) return toChatError(error);
  if (error instanceof PrivacyError)
    return new GatewayError("cannot_send", error.message, {
      param: "settings.privacy",
      cause: error,
    });
  const { code } = error as { code?: unknown };
  const mapping = typeof code === "string" ? errorMappings.get(code) : undefined;
  if (mapping !== undefined) {
    const { code: gatewayCode, ...options } = mapping;
    return new GatewayError(gatewayCode, error.message, { ...options, cause: error });
  }
  if (code === "store_locked") {
    // Replaces the advice in the message of the store: the gateway has other options.
    const [detail = ""] = error.message.split(/[:;] (?:stop it|stop them|try again)/, 1);
    const advice = detail.startsWith("postgres") ? reservedStoreAdvice : storeInUseAdvice;
    const reason = "store_in_use";
    return createStoreError(`${detail}. ${advice}`, error, {
      shown: { reason },
      hidden: { detail },
    });
  }
  // The error codes of all stores have this prefix.
  if (typeof code === "string" && code.startsWith("store_"))
    return createStoreError(error.message, error);
  return error;
}

/** Messages of the store contain its address or path. `fields`: of the reply; only clients that may see the message get `hidden`. */
function createStoreError(
  message: string,
  cause: Error,
  { shown, hidden }: Readonly<Record<"shown" | "hidden", Record<string, string>>> = {
    shown: {},
    hidden: {},
  },
): GatewayError {
  const publicError = new GatewayError(
    "store_unavailable",
    "the store cannot be reached; try again later",
    { retryAfter: storeRetrySeconds, extraFields: shown },
  );
  return new GatewayError("store_unavailable", message, {
    retryAfter: storeRetrySeconds,
    extraFields: { ...shown, ...hidden },
    publicError,
    cause,
  });
}

/** Returns what is wrong with the store, with its address or path, if that has caused the error. For the log only. */
export function findStoreProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  const isOfStore = !(error instanceof GatewayError) && String(code).startsWith("store_");
  return isOfStore ? error.message : findStoreProblem(error.cause);
}

function toChatError(error: ChatError): GatewayError {
  const { code, message, current, param } = error;
  const beginsWithPath = code === "invalid_value" || code === "invalid_import";
  return new GatewayError(code, message, {
    param: param ?? (beginsWithPath ? /^([\w.[\]]+): /.exec(message)?.[1] : undefined),
    ...(current && { extraFields: { revision: current.chat.revision, stamp: current.stamp } }),
    cause: error,
  });
}

const storeRetrySeconds = 5;

const storeInUseAdvice =
  "Another gateway uses the same data, so this one serves models but no chats or tasks. Stop the other one, or start this one with its own data and port: --data FOLDER --port N";

const reservedStoreAdvice =
  "This gateway serves models; chats and tasks are available as soon as that has ended";

interface ErrorMapping {
  code: GatewayErrorCode;
  param?: string;
  retryAfter?: number;
}

const errorMappings = new Map<string, ErrorMapping>(
  Object.entries({
    agent_not_found: { code: "agent_not_found", param: "agent" },
    unknown_model: { code: "model_not_found", param: "model" },
    unknown_tool_group: { code: "unknown_tool_group", param: "tool_groups" },
    invalid_agent: { code: "invalid_request", param: "tool_groups" },
    unpriced_model: { code: "invalid_request", param: "limits.cost" },
    tools_missing: { code: "task_not_running", retryAfter: 5 },
    id_taken: { code: "idempotency_conflict" },
    unavailable: { code: "task_not_running", retryAfter: 5 },
    lease_lost: { code: "task_not_running", retryAfter: 1 },
    closed: { code: "shutting_down" },
  } satisfies Record<
    RuntimeErrorCode | ToolsUnavailableError["code"] | "lease_lost",
    ErrorMapping
  >),
);

export function createTaskNotFoundError(taskId: string): GatewayError {
  return new GatewayError("task_not_found", `task ${quoteExcerpt(taskId)} not found`);
}
