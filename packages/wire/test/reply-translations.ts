import {
  ChatOverChat,
  collectResponse,
  Repairs,
  ResponsesOverChat,
  type ChatChunkChoice,
  type ChatInput,
  type ChatOutput,
  type ChatOverChatOptions,
  type DeclaredTool,
  type RepairCode,
  type ResponseEvent,
  type ResponsesOverChatOptions,
  type StreamEnd,
  type ToolBridge,
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

/** One tool of every form; a function has the name under which it was declared. */
export const tools: ToolBridge = {
  upstreamNames: new Set(Object.keys(declared)),
  declared: (name) => declared[name],
};

/** Ids in a row: `call_minted_1`, `msg_minted_2` … */
export function newIds(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}_minted_${(count += 1)}`;
}

/** What a Responses client gets of a Chat reply. */
export function toResponses(
  inputs: readonly ChatInput[],
  options: Partial<ResponsesOverChatOptions> = {},
  how: StreamEnd = "eof",
) {
  const repairs = new Repairs();
  const machine = new ResponsesOverChat({
    responseId: "resp_1",
    newId: newIds(),
    createdAt: 1,
    tools,
    repairs,
    ...options,
  });
  const events: ResponseEvent[] = [];
  for (const input of inputs) machine.push(input, events);
  machine.end(how, events);
  const response = collectResponse(events);
  return { events, response, output: response?.output ?? [], repairs };
}

/** What a Chat client gets of it. */
export function toChat(
  inputs: readonly ChatInput[],
  options: Partial<ChatOverChatOptions> = {},
  how: StreamEnd = "eof",
) {
  const repairs = new Repairs();
  const machine = new ChatOverChat({
    newId: newIds(),
    createdAt: 1,
    toolNames: tools.upstreamNames,
    repairs,
    ...options,
  });
  const out: ChatOutput[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end(how, out);
  return { out, repairs };
}

/** The choices of all chunks, in order. */
export function choicesIn(out: readonly ChatOutput[]): ChatChunkChoice[] {
  return out.flatMap((output) => (output === "[DONE]" ? [] : (output.choices ?? [])));
}

/** What the record says of one kind of repair, in the provider's words. */
export function detailsOf(repairs: Repairs, code: RepairCode): string[] {
  return repairs.list.flatMap((repair) => (repair.code === code ? [repair.detail] : []));
}
