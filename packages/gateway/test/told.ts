import type { JsonObject } from "@deltawire/wire";
import { eventsOf } from "./running-gateway.ts";

export interface Told {
  reasoning: string;
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  usage: { input: unknown; output: unknown; estimated?: unknown } | undefined;
}

/** What the reply says, whichever wire it came on and whether in events or whole. */
export async function toldBy(wire: "chat" | "responses", response: Response): Promise<Told> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (wire === "responses") {
    const last = isStream ? (await eventsOf(response)).at(-1)?.["response"] : await response.json();
    return toldInResponse(last as JsonObject);
  }
  if (isStream) return toldInChunks(await eventsOf(response));
  const { choices, usage } = (await response.json()) as { choices: Choice[]; usage?: JsonObject };
  return toldInMessage(choices[0]?.message ?? {}, usage);
}

function toldInResponse({ output, usage }: JsonObject): Told {
  const items = output as JsonObject[];
  const words = (parts: unknown): string =>
    ((parts ?? []) as { text: string }[]).map(({ text }) => text).join("");
  const ofType = (type: string) => items.filter((item) => item["type"] === type);
  return {
    reasoning: ofType("reasoning")
      .map((item) => words(item["summary"]) + words(item["content"]))
      .join(""),
    text: ofType("message")
      .map((item) => words(item["content"]))
      .join(""),
    calls: ofType("function_call").map((item) => ({
      id: textOf(item["call_id"]),
      name: textOf(item["name"]),
      arguments: textOf(item["arguments"]),
    })),
    usage: counts(usage as JsonObject | null, "input_tokens", "output_tokens"),
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

function toldInChunks(chunks: JsonObject[]): Told {
  const message: Required<Message> = { content: "", reasoning_content: "", tool_calls: [] };
  let usage: JsonObject | undefined;
  for (const { choices = [], usage: told } of chunks as {
    choices?: Choice[];
    usage?: JsonObject;
  }[]) {
    usage = told ?? usage;
    const { delta = {} } = choices[0] ?? {};
    message.content += delta.content ?? "";
    message.reasoning_content += delta.reasoning_content ?? "";
    for (const { index = 0, id, function: called } of delta.tool_calls ?? []) {
      const call = (message.tool_calls[index] ??= { id: id ?? "", function: { arguments: "" } });
      call.function.name ??= called.name ?? "";
      call.function.arguments += called.arguments;
    }
  }
  return toldInMessage(message, usage);
}

function toldInMessage(message: Message, usage: JsonObject | undefined): Told {
  return {
    reasoning: message.reasoning_content ?? "",
    text: message.content ?? "",
    calls: (message.tool_calls ?? []).map(({ id = "", function: called }) => ({
      id,
      name: called.name ?? "",
      arguments: called.arguments,
    })),
    usage: counts(usage, "prompt_tokens", "completion_tokens"),
  };
}

function counts(
  usage: JsonObject | null | undefined,
  input: string,
  output: string,
): Told["usage"] {
  if (usage === null || usage === undefined) return undefined;
  const estimated = usage["estimated"];
  return {
    input: usage[input],
    output: usage[output],
    ...(estimated === undefined ? {} : { estimated }),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
