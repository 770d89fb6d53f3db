import { collectMessage, type JsonObject, type MessageEvent } from "@deltawire/wire";
import type { ApiName } from "../src/config/config.ts";
import { readEvents } from "./test-gateway.ts";

export interface ReplyContents {
  reasoning: string;
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  usage: { input: unknown; output: unknown; estimated?: unknown } | undefined;
}

/** The content of a reply, the same for every API, streamed or not. */
export async function readReply(wire: ApiName, response: Response): Promise<ReplyContents> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (wire === "responses") {
    const last = isStream
      ? (await readEvents(response)).at(-1)?.["response"]
      : await response.json();
    return fromResponse(last as JsonObject);
  }
  if (wire === "messages") {
    if (!isStream) return fromBlocks((await response.json()) as JsonObject);
    const result = collectMessage((await readEvents(response)) as unknown as MessageEvent[]);
    if (result?.ok !== true) throw new Error(`no complete message: ${JSON.stringify(result)}`);
    return fromBlocks(result.message as unknown as JsonObject);
  }
  if (isStream) return fromChunks(await readEvents(response));
  const { choices, usage } = (await response.json()) as { choices: Choice[]; usage?: JsonObject };
  return fromMessage(choices[0]?.message ?? {}, usage);
}

function fromResponse({ output, usage }: JsonObject): ReplyContents {
  const items = output as JsonObject[];
  const joinText = (parts: unknown): string =>
    ((parts ?? []) as { text: string }[]).map(({ text }) => text).join("");
  const ofType = (type: string) => items.filter((item) => item["type"] === type);
  return {
    reasoning: ofType("reasoning")
      .map((item) => joinText(item["summary"]) + joinText(item["content"]))
      .join(""),
    text: ofType("message")
      .map((item) => joinText(item["content"]))
      .join(""),
    calls: ofType("function_call").map((item) => ({
      id: toText(item["call_id"]),
      name: toText(item["name"]),
      arguments: toText(item["arguments"]),
    })),
    usage: readUsage(usage as JsonObject | null, "input_tokens", "output_tokens"),
  };
}

function fromBlocks({ content, usage }: JsonObject): ReplyContents {
  const blocks = content as JsonObject[];
  const join = (type: string): string =>
    blocks.flatMap((block) => (block["type"] === type ? [toText(block[type])] : [])).join("");
  return {
    reasoning: join("thinking"),
    text: join("text"),
    calls: blocks.flatMap(({ type, id, name, input }) =>
      type === "tool_use"
        ? [{ id: toText(id), name: toText(name), arguments: JSON.stringify(input) }]
        : [],
    ),
    usage: readUsage(usage as JsonObject, "input_tokens", "output_tokens"),
  };
}

interface Message {
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: { index?: number; id?: string; function: { name?: string; arguments: string } }[];
}

interface Choice {
  message?: Message;
  delta?: Message;
}

function fromChunks(chunks: JsonObject[]): ReplyContents {
  const message: Required<Message> = { content: "", reasoning_content: "", tool_calls: [] };
  let usage: JsonObject | undefined;
  for (const { choices = [], usage: chunkUsage } of chunks as {
    choices?: Choice[];
    usage?: JsonObject;
  }[]) {
    usage = chunkUsage ?? usage;
    const { delta = {} } = choices[0] ?? {};
    message.content += delta.content ?? "";
    message.reasoning_content += delta.reasoning_content ?? "";
    for (const { index = 0, id, function: called } of delta.tool_calls ?? []) {
      const call = (message.tool_calls[index] ??= { id: id ?? "", function: { arguments: "" } });
      call.function.name ??= called.name ?? "";
      call.function.arguments += called.arguments;
    }
  }
  return fromMessage(message, usage);
}

function fromMessage(message: Message, usage: JsonObject | undefined): ReplyContents {
  return {
    reasoning: message.reasoning_content ?? "",
    text: message.content ?? "",
    calls: (message.tool_calls ?? []).map(({ id = "", function: called }) => ({
      id,
      name: called.name ?? "",
      arguments: called.arguments,
    })),
    usage: readUsage(usage, "prompt_tokens", "completion_tokens"),
  };
}

function readUsage(
  usage: JsonObject | null | undefined,
  input: string,
  output: string,
): ReplyContents["usage"] {
  if (usage === null || usage === undefined) return undefined;
  const estimated = usage["estimated"];
  return {
    input: usage[input],
    output: usage[output],
    ...(estimated === undefined ? {} : { estimated }),
  };
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
