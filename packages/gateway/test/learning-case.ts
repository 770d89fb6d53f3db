import type { JsonObject, Profile } from "@deltawire/wire";
import type { LessonCode } from "../src/learning/lessons.ts";

/** A strict upstream: what it will not take, the error that it sends, and what is to be learned from it. */
export interface RefusalCase {
  title: string;
  /** Flags that are set from the start, where the generic profile asks for nothing that is refused. */
  given?: Partial<Profile>;
  /** What a Responses client asks. */
  request: JsonObject;
  /** Whether it refuses this body. */
  refuses: (body: JsonObject) => boolean;
  status?: number;
  error: unknown;
  learns: LessonCode;
}

export const look = {
  type: "function",
  name: "look",
  parameters: { type: "object", properties: {} },
};
export const called = [
  { role: "user", content: "look" },
  { type: "function_call", call_id: "call_aaa", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "call_aaa", output: "A" },
];
export const thought = [
  { role: "user", content: "look" },
  { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
  ...called.slice(1),
];
export const twice = [
  { role: "user", content: "<environment>" },
  { role: "user", content: "hi" },
];
export const late = [
  { role: "user", content: "hi" },
  { role: "developer", content: "be brief" },
  { role: "user", content: "go on" },
];
export const picture = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
export const aSchema = {
  format: { type: "json_schema", name: "o", strict: true, schema: { type: "object" } },
};
export const anObject = { format: { type: "json_object" } };
export const thinking = { reasoningField: "reasoning_content", reasoningRange: "all" } as const;

type Look = (message: JsonObject, at: number, all: readonly JsonObject[]) => boolean;

export function someMessage(wrong: Look): RefusalCase["refuses"] {
  return ({ messages }) => (messages as JsonObject[]).some(wrong);
}

export function someTool(wrong: (tool: JsonObject) => boolean): RefusalCase["refuses"] {
  return ({ tools }) => ((tools ?? []) as JsonObject[]).some(wrong);
}

export function someCall(wrong: (id: string) => boolean): RefusalCase["refuses"] {
  return someMessage(({ tool_calls: calls }) =>
    ((calls ?? []) as JsonObject[]).some(({ id }) => wrong(id as string)),
  );
}
