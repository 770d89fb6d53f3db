import type { MessageContentBlock, MessageParam, MessagesRequest } from "@deltawire/wire";

/**
 * Returns the rules of the Messages API that a request violates: of the parameters, the roles and blocks of each turn, and the
 * pairs of calls and results. Written from the API's documentation, independently of the translators.
 */
export function findMessagesRequestFaults(request: MessagesRequest): string[] {
  const faults: string[] = [];
  const { max_tokens: maxTokens, thinking, tool_choice: choice, tools, messages } = request;
  if (request.model === "") faults.push("model: empty");
  if (!Number.isInteger(maxTokens) || Number(maxTokens) < 1) faults.push("max_tokens");
  const names = (tools ?? []).map(({ name }) => name ?? "");
  if (new Set(names).size !== names.length) faults.push("tools: a name twice");
  for (const { name, input_schema: schema } of tools ?? []) {
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(name ?? "")) faults.push(`tools: name ${name}`);
    if (schema?.["type"] !== "object") faults.push(`tools: ${name} without an object schema`);
  }
  if (choice && names.length === 0) faults.push("tool_choice without tools");
  if (choice?.type === "tool" && !names.includes(choice.name ?? ""))
    faults.push("tool_choice.name");
  const isForced = choice?.type === "any" || choice?.type === "tool";
  if (thinking?.type === "enabled") {
    const budget = thinking.budget_tokens ?? 0;
    if (budget < 1024 || budget >= Number(maxTokens)) faults.push("thinking.budget_tokens");
    if (isForced) faults.push("thinking with a forced call");
    if ((request.temperature ?? 1) !== 1) faults.push("thinking with a temperature");
  }
  const { temperature } = request;
  if (typeof temperature === "number" && (temperature < 0 || temperature > 1))
    faults.push("temperature");
  for (const sequence of request.stop_sequences ?? [])
    if (sequence.trim() === "") faults.push("stop_sequences: blank");
  if (request.system === "" || (Array.isArray(request.system) && request.system.length === 0))
    faults.push("system: empty");
  if (JSON.stringify(request).split('"cache_control":{').length > 5) faults.push("cache marks");
  if (messages.length === 0) return [...faults, "messages: empty"];
  if (messages[0]?.role === "assistant") faults.push("messages: the first is of the assistant");
  messages.forEach((message, index) => {
    for (const fault of findTurnFaults(message, messages[index - 1], messages[index + 1]))
      faults.push(`messages[${index}]: ${fault}`);
  });
  return faults;
}

function findTurnFaults(
  { role, content }: MessageParam,
  previous: MessageParam | undefined,
  next: MessageParam | undefined,
): string[] {
  const faults: string[] = [];
  const blocks = toBlocks(content);
  if (blocks.length === 0) faults.push("empty");
  if (role !== "system" && previous?.role === role) faults.push("the same role twice");
  if (role === "system" && previous?.role !== "user") faults.push("system not behind a user");
  if (role === "system" && next !== undefined && next.role !== "assistant")
    faults.push("system not before an assistant");
  for (const { type, text, name, id, input } of blocks) {
    if (type === "text" && (text ?? "").trim() === "") faults.push("blank text");
    if (type === "tool_use" && role !== "assistant") faults.push("a call of the user");
    if (type === "tool_result" && role !== "user") faults.push("a result of the assistant");
    if (type === "tool_use" && !/^[A-Za-z0-9_-]+$/.test(id ?? "")) faults.push(`id ${id}`);
    if (type === "tool_use" && (typeof input !== "object" || !name)) faults.push(`call ${id}`);
    if (type === "thinking" && role !== "assistant") faults.push("thinking of the user");
  }
  const calls = blocks.flatMap(({ type, id }) => (type === "tool_use" ? [id] : []));
  if (new Set(calls).size !== calls.length) faults.push("a call id twice");
  const results = getResults(next);
  for (const id of calls) if (!results.includes(id)) faults.push(`call ${id} without a result`);
  if (role !== "user") return faults;
  const answered = getResults({ role, content });
  const previousCalls = toBlocks(previous?.content ?? "").map(({ id }) => id);
  for (const id of answered)
    if (!previousCalls.includes(id)) faults.push(`result ${id} without its call`);
  const firstOther = blocks.findIndex(({ type }) => type !== "tool_result");
  const lastResult = blocks.findLastIndex(({ type }) => type === "tool_result");
  if (firstOther !== -1 && lastResult > firstOther) faults.push("a result behind other content");
  return faults;
}

function getResults(message: MessageParam | undefined): (string | undefined)[] {
  return toBlocks(message?.content ?? "").flatMap(({ type, tool_use_id: id }) =>
    type === "tool_result" ? [id] : [],
  );
}

function toBlocks(content: MessageParam["content"]): MessageContentBlock[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}
