import { ChatError, PrivacyError, type RuntimeErrorCode } from "@deltawire/agent";
import { quoted } from "@deltawire/tasks";
import { Problem, type ProblemCode } from "../problem.ts";
import type { ToolsMissing } from "./configured-agents.ts";

/** What the runtime, chats or the store refused, as a client is told of it; anything else stays as it is. */
export function taskProblem(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Problem) return error;
  if (error instanceof ChatError) return chatProblem(error);
  if (error instanceof PrivacyError)
    return new Problem("cannot_send", error.message, { param: "settings.privacy", cause: error });
  const { code } = error as { code?: unknown };
  const refusal = typeof code === "string" ? refusals.get(code) : undefined;
  if (refusal !== undefined) {
    const { code: told, ...more } = refusal;
    return new Problem(told, error.message, { ...more, cause: error });
  }
  if (code === "store_locked") {
    // The rest is advice, which a gateway has in its own words.
    const [detail = ""] = error.message.split(": stop it", 1);
    return new Problem("store_unavailable", `${detail}. ${inUseAdvice}`, {
      cause: error,
      beside: { reason: "store_in_use", detail },
    });
  }
  // As the codes of every store begin.
  if (typeof code === "string" && code.startsWith("store_"))
    return new Problem("store_unavailable", error.message, { cause: error });
  return error;
}

/** What chats refused, as a client is told of it. */
function chatProblem(error: ChatError): Problem {
  const { code, message, current, param } = error;
  const beginsWithPath = code === "bad_value" || code === "bad_import";
  return new Problem(code, message, {
    param: param ?? (beginsWithPath ? /^([\w.[\]]+): /.exec(message)?.[1] : undefined),
    ...(current && { beside: { revision: current.chat.revision, stamp: current.stamp } }),
    cause: error,
  });
}

const inUseAdvice =
  "Another gateway runs on the same data: this one serves models, but neither chats nor tasks. Stop the other one, or start this one with its own data and port: --data FOLDER --port N";

interface Refusal {
  code: ProblemCode;
  param?: string;
  retryAfter?: number;
}

const refusals = new Map<string, Refusal>(
  Object.entries({
    unknown_agent: { code: "unknown_agent", param: "agent" },
    unknown_model: { code: "model_not_found", param: "model" },
    unknown_tool_group: { code: "unknown_tool_group", param: "tool_groups" },
    invalid_agent: { code: "invalid_request", param: "tool_groups" },
    unpriced_model: { code: "invalid_request", param: "limits.cost" },
    tools_missing: { code: "task_not_running", retryAfter: 5 },
    closed: { code: "shutting_down" },
  } satisfies Record<RuntimeErrorCode | ToolsMissing["code"], Refusal>),
);

export function taskNotFound(taskId: string): Problem {
  return new Problem("task_not_found", `there is no task ${quoted(taskId)}`);
}
