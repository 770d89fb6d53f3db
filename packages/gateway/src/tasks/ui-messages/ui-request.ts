import type { TaskRequest } from "@deltawire/agent";
import { parseUiInput, type UiApproval } from "@deltawire/tasks";
import {
  readonlyArray,
  looseObject,
  optionalFields,
  parseValue,
  resourceName,
} from "@deltawire/tasks/chats";
import * as v from "valibot";
import { invalidRequest, parseBody } from "../../parse-body.ts";
import { taskRequestSchema } from "../task-request.ts";
import { toModelHistoryItems } from "./ui-history.ts";

/** A request of `useChat`. */
export type UiRequest =
  | { type: "start"; request: TaskRequest; chat: string | undefined }
  /** Contains only decisions of the user. The output is appended to the assistant message that requested them. */
  | { type: "continue"; taskId: string; after: number; approvals: readonly UiApproval[] };

const { agent, model, instructions, tool_groups, limits } = taskRequestSchema.entries;
/** Fields of a task request that clients can add with the `body` option of `useChat`. */
const taskFields = { agent, model, instructions, tool_groups, limits };

/**
 * The body that the `ai` SDK's transport sends. Other fields are allowed, because an application may add its own. Messages are
 * parsed by `parseUiInput`.
 */
export const uiMessagesBodySchema = v.pipe(
  looseObject({
    ...optionalFields({
      id: v.pipe(resourceName, v.description("Id of the chat; the `session_id` of its tasks.")),
      trigger: v.pipe(v.string(), v.maxLength(300)),
      messageId: v.pipe(v.string(), v.maxLength(300)),
    }),
    messages: readonlyArray(v.pipe(v.unknown(), v.metadata({ type: "object" })), { min: 1 }),
    ...taskFields,
  }),
  v.metadata({
    additionalProperties: true,
    description: "What `useChat` sends. Fields that are not listed are ignored.",
  }),
);

/**
 * Parses the body of `POST /api/ui-messages`: what the `ai` SDK's transport sends, plus fields of a task request. The
 * agent or model may also be in the query of the URL. Throws a GatewayError (400) if the body is invalid.
 */
export function parseUiRequest(body: unknown, query: URLSearchParams): UiRequest {
  const messagesBody = parseBody(uiMessagesBodySchema, body);
  const {
    approvals,
    chat_id: chat,
    continues,
    history,
    input,
    input_paths,
  } = parseUiInput(messagesBody);
  if (input.length === 0) {
    if (continues === undefined)
      throw invalidRequest(
        "messages",
        "the last message does not name a task to continue; send its metadata unchanged",
      );
    return { type: "continue", taskId: continues.task_id, after: continues.after, approvals };
  }
  const hasResponder = messagesBody.agent !== undefined || messagesBody.model !== undefined;
  const result = parseValue(taskRequestSchema, {
    ...Object.fromEntries(Object.keys(taskFields).map((name) => [name, messagesBody[name]])),
    ...(hasResponder ? {} : { agent: query.get("agent"), model: query.get("model") }),
    input,
    ...(chat === undefined ? {} : { session_id: chat }),
  });
  if (!result.ok) throw invalidRequest(toClientPath(result.path, input_paths), result.message);
  return {
    type: "start",
    request: { ...result.value, history: toModelHistoryItems(history) },
    chat,
  };
}

/** Returns the path of a part of the task's input as the client sent it: `messages[0].parts[1].url`. */
function toClientPath(path: string, inputPaths: readonly string[]): string {
  const [, index, field = ""] =
    /^input\[(\d+)\](?:\.(?:image|audio|file)_url(?=\.))?(.*)$/.exec(path) ?? [];
  if (index === undefined) return path;
  return `${inputPaths[Number(index)]}${field.replace("media_type", "mediaType")}`;
}
