import type { TaskRequest } from "@deltawire/agent";
import { uiInput, type UiApproval } from "@deltawire/tasks";
import { list, openObject, optionalFields, parseValue, resourceName } from "@deltawire/tasks/chats";
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

/**
 * What the `ai` SDK's transport sends. Other fields are allowed, for an application may give `useChat` a body for servers
 * of its own. Messages are read by `uiInput`.
 */
export const uiMessagesBody = v.pipe(
  openObject({
    ...optionalFields({
      id: v.pipe(resourceName, v.description("The chat's; its tasks have it as `session_id`.")),
      trigger: v.pipe(v.string(), v.maxLength(300)),
      messageId: v.pipe(v.string(), v.maxLength(300)),
    }),
    messages: list(v.pipe(v.unknown(), v.metadata({ type: "object" })), { min: 1 }),
    ...taskFields,
  }),
  v.metadata({
    additionalProperties: true,
    description: "What `useChat` sends. Fields that are not listed are ignored.",
  }),
);

/**
 * The body of `POST /api/ui-messages`: what the `ai` SDK's transport sends, and beside it what a task is asked with. Who
 * answers may stand in the address too, which is where a page that resumes has it.
 */
export function readUiRequest(body: unknown, query: URLSearchParams): UiRequest {
  const given = parseBody(uiMessagesBody, body);
  const { approvals, chat_id: chat, continues, history, input, input_paths } = uiInput(given);
  if (input.length === 0) {
    if (continues === undefined)
      throw invalid(
        "messages",
        "the last message tells no task to go on with; send its metadata as they came",
      );
    return { is: "go on", taskId: continues.task_id, after: continues.after, approvals };
  }
  const named = given.agent !== undefined || given.model !== undefined;
  const asked = parseValue(taskRequest, {
    ...Object.fromEntries(Object.keys(taskFields).map((name) => [name, given[name]])),
    ...(named ? {} : { agent: query.get("agent"), model: query.get("model") }),
    input,
    ...(chat === undefined ? {} : { session_id: chat }),
  });
  if (!asked.ok) throw invalid(pathInBody(asked.path, input_paths), asked.message);
  return { is: "start", request: { ...asked.value, history: historyItems(history) }, chat };
}

/** Returns the path of a part of the task's input as the client sent it: `messages[0].parts[1].url`. */
function pathInBody(path: string, inputPaths: readonly string[]): string {
  const [, index, field = ""] =
    /^input\[(\d+)\](?:\.(?:image|audio|file)_url(?=\.))?(.*)$/.exec(path) ?? [];
  if (index === undefined) return path;
  return `${inputPaths[Number(index)]}${field.replace("media_type", "mediaType")}`;
}
