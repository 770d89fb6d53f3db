import type { JsonObject, UpstreamProfile } from "@deltawire/wire";
import type { LessonCode } from "../src/learning/derive-lesson.ts";

/** A strict upstream: what it rejects, the error that it sends, and the expected lesson. */
export interface RejectionCase {
  title: string;
  /** Initial flags, if the generic profile would not send what is rejected. */
  initialFlags?: Partial<UpstreamProfile>;
  /** The request of a Responses client. */
  request: JsonObject;
  /** True if the upstream rejects this body. */
  rejects: (body: JsonObject) => boolean;
  status?: number;
  error: unknown;
  expectedLesson: LessonCode;
}

export const lookTool = {
  type: "function",
  name: "look",
  parameters: { type: "object", properties: {} },
};
export const historyWithCall = [
  { role: "user", content: "look" },
  { type: "function_call", call_id: "call_aaa", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "call_aaa", output: "A" },
];
export const historyWithReasoning = [
  { role: "user", content: "look" },
  { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
  ...historyWithCall.slice(1),
];
export const consecutiveUserMessages = [
  { role: "user", content: "<environment>" },
  { role: "user", content: "hi" },
];
export const lateSystemMessage = [
  { role: "user", content: "hi" },
  { role: "developer", content: "be brief" },
  { role: "user", content: "go on" },
];
export const inputImage = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
export const jsonSchemaFormat = {
  format: { type: "json_schema", name: "o", strict: true, schema: { type: "object" } },
};
export const jsonObjectFormat = { format: { type: "json_object" } };
export const reasoningFlags = {
  reasoningField: "reasoning_content",
  reasoningRange: "all",
} as const;

type MessagePredicate = (message: JsonObject, index: number, all: readonly JsonObject[]) => boolean;

export function someMessage(isRejected: MessagePredicate): RejectionCase["rejects"] {
  return ({ messages }) => (messages as JsonObject[]).some(isRejected);
}

export function someTool(isRejected: (tool: JsonObject) => boolean): RejectionCase["rejects"] {
  return ({ tools }) => ((tools ?? []) as JsonObject[]).some(isRejected);
}

export function someCall(isRejected: (id: string) => boolean): RejectionCase["rejects"] {
  return someMessage(({ tool_calls: calls }) =>
    ((calls ?? []) as JsonObject[]).some(({ id }) => isRejected(id as string)),
  );
}
