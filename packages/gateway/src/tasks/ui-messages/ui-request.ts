import type { TaskRequest } from "@deltawire/agent";
import { uiInput, type UiApproval } from "@deltawire/tasks";
import { list, optionalFields } from "@deltawire/tasks/chats";
import { isObject } from "@deltawire/wire";
import * as v from "valibot";
import { invalid, parseBody } from "../../parse-body.ts";
import { taskRequest } from "../task-request.ts";
import { historyItems } from "./ui-history.ts";

/** What a client of `useChat` wants. */
export type UiRequest =
  | { is: "start"; request: TaskRequest; chat: string | undefined }
  /** The user said nothing but answered: what comes of it belongs to the message that asked. */
  | { is: "go on"; taskId: string; after: number; approvals: readonly UiApproval[] };

const { agent, model, instructions, tool_groups, limits } = taskRequest.entries;
/** Of a task's own request, for clients that give `useChat` a body. */
const taskFields = { agent, model, instructions, tool_groups, limits };

/** What the `ai` SDK's transport sends, for the OpenAPI document; `uiInput` reads it. */
export const uiMessagesBody = v.looseObject({
  ...optionalFields({
    id: v.pipe(v.string(), v.description("The chat's; its tasks have it as `session_id`.")),
    trigger: v.string(),
    messageId: v.string(),
  }),
  messages: list(v.pipe(v.unknown(), v.metadata({ type: "object" })), { min: 1 }),
  ...taskFields,
});

/**
 * The body of `POST /api/ui-messages`: what the `ai` SDK's transport sends, and beside it what a task is asked with. Who
 * answers may stand in the address too, which is where a page that resumes has it.
 */
export function readUiRequest(body: unknown, query: URLSearchParams): UiRequest {
  const { approvals, chat_id: chat, continues, history, input } = uiInput(body);
  if (input.length === 0) {
    if (continues === undefined)
      throw invalid(
        "messages",
        "the last message tells no task to go on with; send its metadata as they came",
      );
    return { is: "go on", taskId: continues.task_id, after: continues.after, approvals };
  }
  const given: Record<string, unknown> = isObject(body) ? body : {};
  const named = given["agent"] !== undefined || given["model"] !== undefined;
  const asked = parseBody(taskRequest, {
    ...Object.fromEntries(Object.keys(taskFields).map((name) => [name, given[name]])),
    ...(named ? {} : { agent: query.get("agent"), model: query.get("model") }),
    input,
    ...(chat === undefined ? {} : { session_id: chat }),
  });
  return { is: "start", request: { ...asked, history: historyItems(history) }, chat };
}
