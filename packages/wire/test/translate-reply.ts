import {
  ChatOverChat,
  collectResponse,
  Repairs,
  ResponsesOverChat,
  type ChatChunkChoice,
  type UpstreamChatEvent,
  type ChatStreamEvent,
  type ChatOverChatOptions,
  type DeclaredTool,
  type RepairCode,
  type ResponseEvent,
  type ResponsesOverChatOptions,
  type StreamEndReason,
  type ToolTranslation,
} from "@deltawire/wire";

const declared: Record<string, DeclaredTool> = {
  get_weather: { kind: "function", name: "get_weather" },
  get_time: { kind: "function", name: "get_time" },
  health: { kind: "function", name: "health" },
  write_patch: { kind: "custom", name: "write_patch" },
  tool_search: { kind: "tool_search" },
  local_shell: { kind: "local_shell" },
  shell: { kind: "shell" },
  apply_patch: { kind: "apply_patch" },
};

/** One tool of every kind. The upstream sees them under the same name. */
export const sampleTools: ToolTranslation = {
  upstreamNames: new Set(Object.keys(declared)),
  findDeclared: (name) => declared[name],
};

/** Creates a generator of consecutive ids: `call_minted_1`, `msg_minted_2` … */
export function createIdCounter(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}_minted_${(count += 1)}`;
}

/** Translates a Chat reply for a Responses client. */
export function translateToResponses(
  inputs: readonly UpstreamChatEvent[],
  options: Partial<ResponsesOverChatOptions> = {},
  endReason: StreamEndReason = "eof",
) {
  const repairs = new Repairs();
  const machine = new ResponsesOverChat({
    responseId: "resp_1",
    newId: createIdCounter(),
    createdAt: 1,
    tools: sampleTools,
    repairs,
    ...options,
  });
  const events: ResponseEvent[] = [];
  for (const input of inputs) machine.push(input, events);
  machine.end(endReason, events);
  const response = collectResponse(events);
  return { events, response, output: response?.output ?? [], repairs };
}

/** Translates a Chat reply for a Chat client. */
export function translateToChat(
  inputs: readonly UpstreamChatEvent[],
  options: Partial<ChatOverChatOptions> = {},
  endReason: StreamEndReason = "eof",
) {
  const repairs = new Repairs();
  const machine = new ChatOverChat({
    newId: createIdCounter(),
    createdAt: 1,
    toolNames: sampleTools.upstreamNames,
    repairs,
    ...options,
  });
  const out: ChatStreamEvent[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end(endReason, out);
  return { out, repairs };
}

/** Returns the choices of all chunks in order. */
export function getChoices(out: readonly ChatStreamEvent[]): ChatChunkChoice[] {
  return out.flatMap((output) => (output === "[DONE]" ? [] : (output.choices ?? [])));
}

/** Returns the details of all repairs with a code. */
export function getRepairDetails(repairs: Repairs, code: RepairCode): string[] {
  return repairs.list.flatMap((repair) => (repair.code === code ? [repair.detail] : []));
}
