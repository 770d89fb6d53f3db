import { WireError } from "../error.ts";
import { isObject, parseJson, type JsonObject, type JsonValue } from "../json.ts";
import { chatParts } from "../mapping/content.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatContentPart } from "../shapes/chat-request.ts";
import type {
  CallOutputItem,
  ImageGenerationCallItem,
  InputItem,
  MessageItem,
  ReasoningItem,
  ServerItem,
  Tool,
  ToolSearchOutputItem,
} from "../shapes/responses-request.ts";
import type { DeclaredTool } from "../tools/bridge.ts";
import type { OfferedTools } from "../tools/definitions.ts";

/** What an input item says in the terms of a Chat conversation, before anything is put in order. */
export type Entry =
  | { is: "system"; role: "system" | "developer"; parts: ChatContentPart[] }
  /** `note`: said in the user's place about what happened; it does not begin a new turn. */
  | { is: "user"; parts: ChatContentPart[]; note: boolean }
  | { is: "assistant"; parts: ChatContentPart[] }
  | { is: "reasoning"; item: ReasoningItem }
  | CallEntry
  | ResultEntry;

export interface CallEntry {
  is: "call";
  id: string;
  name: string;
  /** JSON for a function, plain text for a custom tool. */
  input: { kind: "function"; arguments: string } | { kind: "custom"; text: string };
}

export interface ResultEntry {
  is: "result";
  id: string;
  parts: ChatContentPart[];
}

export function inputEntries(
  input: string | readonly InputItem[],
  tools: OfferedTools,
  repairs: Repairs,
): Entry[] {
  const reader = new EntryReader(tools, repairs);
  if (typeof input === "string") reader.user(chatParts(input, repairs), "input");
  else input.forEach((item, index) => reader.read(item, `input[${index}]`));
  return reader.entries;
}

class EntryReader {
  readonly entries: Entry[] = [];
  readonly #tools: OfferedTools;
  readonly #repairs: Repairs;
  /** The `call_id` of a local-shell call by its item id: the published output item refers to the latter. */
  readonly #shellCalls = new Map<string, string>();

  constructor(tools: OfferedTools, repairs: Repairs) {
    this.#tools = tools;
    this.#repairs = repairs;
  }

  read(item: InputItem, place: string): void {
    switch (item.type) {
      case undefined:
      case null:
        if ("role" in item) return this.#message(item, place);
        return refuseReference(place);
      case "message":
        return this.#message(item, place);
      case "reasoning":
        return void this.entries.push({ is: "reasoning", item });
      case "function_call":
        return this.#call(item.call_id, toolOf("function", item), item.arguments);
      case "custom_tool_call":
        return this.#customCall(item.call_id, toolOf("custom", item), item.input);
      case "local_shell_call": {
        const id = item.call_id ?? item.id ?? "";
        if (item.id) this.#shellCalls.set(item.id, id);
        const { type: _type, ...action } = item.action;
        return this.#call(id, { kind: "local_shell" }, JSON.stringify(action));
      }
      case "shell_call":
        return this.#call(item.call_id, { kind: "shell" }, JSON.stringify(item.action));
      case "apply_patch_call":
        return this.#call(item.call_id, { kind: "apply_patch" }, JSON.stringify(item.operation));
      case "computer_call": {
        const actions = item.actions ?? item.action ?? {};
        return this.#call(item.call_id, namedFunction("computer"), JSON.stringify({ actions }));
      }
      case "program":
        return this.#call(
          item.call_id,
          namedFunction("program"),
          JSON.stringify({ code: item.code }),
        );
      case "tool_search_call":
        if (!item.call_id) return this.#skip(`${place}: ${item.type} by the server`);
        return this.#call(item.call_id, { kind: "tool_search" }, jsonText(item.arguments ?? {}));
      case "function_call_output":
      case "custom_tool_call_output":
      case "local_shell_call_output":
      case "shell_call_output":
      case "apply_patch_call_output":
      case "computer_call_output":
      case "program_output":
        return this.#result(this.#callOf(item), this.#outputParts(item));
      case "tool_search_output":
        if (!item.call_id) return; // by the server: its tools are in the list, and nobody asked for it
        return this.#result(item.call_id, chatParts(this.#foundTools(item), this.#repairs));
      case "mcp_call": {
        this.#call(
          item.id,
          toolOf("function", { ...item, namespace: item.server_label }),
          item.arguments,
        );
        const failed = item.error === undefined || item.error === null ? "" : jsonText(item.error);
        return this.#result(item.id, chatParts(item.output ?? failed, this.#repairs));
      }
      case "web_search_call":
      case "file_search_call":
      case "code_interpreter_call":
      case "mcp_approval_request":
      case "mcp_approval_response":
        return this.#note(item);
      case "image_generation_call":
        return this.#image(item);
      case "additional_tools":
      case "configuration_update":
        return; // read where tools and settings are
      case "compaction":
      case "compaction_trigger":
      case "mcp_list_tools":
        return this.#skip(`${place}: ${item.type}`);
      case "item_reference":
        return refuseReference(place);
      default:
        return this.#unknown(item, place);
    }
  }

  user(parts: ChatContentPart[], place: string): void {
    if (parts.length === 0) this.#skip(`${place}: empty message`);
    else this.entries.push({ is: "user", parts, note: false });
  }

  #message(item: MessageItem, place: string): void {
    const parts = chatParts(item.content, this.#repairs);
    if (item.role === "user") return this.user(parts, place);
    if (parts.length === 0) return this.#skip(`${place}: empty message`);
    // Only a user's message may hold pictures and files in Chat.
    const text = parts.filter((part) => part.type === "text");
    const media = parts.filter((part) => part.type !== "text");
    if (text.length > 0)
      this.entries.push(
        item.role === "assistant"
          ? { is: "assistant", parts: text }
          : { is: "system", role: item.role, parts: text },
      );
    if (media.length === 0) return;
    this.#repairs.add("content_converted", `${place}: media of the role ${item.role}`);
    this.entries.push({ is: "user", parts: media, note: true });
  }

  #call(id: string, tool: DeclaredTool, text: string): void {
    const name = this.#tools.callName(tool);
    // Templates parse the arguments of old calls: vLLM answers 400 to those that are no JSON object.
    const whole = text.trim() === "" ? "{}" : text;
    const isWhole = isObject(parseJson(whole));
    if (!isWhole) this.#repairs.add("arguments_not_whole", `${id} ${name}`);
    const args = isWhole ? whole : JSON.stringify({ input: text });
    this.entries.push({ is: "call", id, name, input: { kind: "function", arguments: args } });
  }

  #customCall(id: string, tool: DeclaredTool, text: string): void {
    const name = this.#tools.callName(tool);
    this.entries.push({ is: "call", id, name, input: { kind: "custom", text } });
  }

  #result(id: string, parts: ChatContentPart[]): void {
    this.entries.push({ is: "result", id, parts });
  }

  #callOf(item: CallOutputItem): string {
    const id = item.call_id ?? item.id ?? "";
    return item.type === "local_shell_call_output" ? (this.#shellCalls.get(id) ?? id) : id;
  }

  #outputParts(item: CallOutputItem): ChatContentPart[] {
    const output = item.type === "program_output" ? item["result"] : item.output;
    if (item.type === "apply_patch_call_output")
      return chatParts(
        [item["status"], output].filter((word) => typeof word === "string").join(": "),
        this.#repairs,
      );
    if (output === undefined || output === null) return [];
    if (typeof output === "string") return chatParts(output, this.#repairs);
    const list = Array.isArray(output) ? output : [output];
    return list.flatMap((part) =>
      isObject(part) && typeof part["type"] === "string"
        ? chatParts([{ ...part, type: part["type"] }], this.#repairs)
        : chatParts(jsonText(part), this.#repairs),
    );
  }

  #foundTools(item: ToolSearchOutputItem): string {
    const lines = item.tools.flatMap((tool) => this.#describe(tool));
    return lines.length === 0 ? "No tools found." : `Tools found:\n${lines.join("\n")}`;
  }

  #describe(tool: Tool): string[] {
    if (tool.type === "namespace")
      return tool.tools.flatMap((inner) =>
        inner.type === "function" || inner.type === "custom"
          ? [
              this.#line(
                { kind: inner.type, name: inner.name, namespace: tool.name },
                inner.description,
              ),
            ]
          : [],
      );
    return tool.type === "function" || tool.type === "custom"
      ? [this.#line({ kind: tool.type, name: tool.name }, tool.description)]
      : [];
  }

  #line(tool: DeclaredTool, description: string | null | undefined): string {
    const name = this.#tools.callName(tool);
    return description ? `- ${name}: ${description}` : `- ${name}`;
  }

  /** What a server did by itself is told in the user's place: in the assistant's, models begin to imitate it. */
  #note(item: ServerItem): void {
    const { type, id: _id, status: _status, ...rest } = item;
    const text = `[${type}] ${JSON.stringify(rest)}`;
    this.entries.push({ is: "user", parts: [{ type: "text", text }], note: true });
  }

  #image(item: ImageGenerationCallItem): void {
    const text = item.revised_prompt
      ? `[image_generation_call] ${item.revised_prompt}`
      : "[image_generation_call]";
    const parts: ChatContentPart[] = [{ type: "text", text }];
    const url = `data:image/${item.output_format ?? "png"};base64,${item.result ?? ""}`;
    if (item.result) parts.push({ type: "image_url", image_url: { url } });
    this.entries.push({ is: "user", parts, note: true });
  }

  /** An item of a type that came after us: by its form it may still be a call or a result. */
  #unknown(item: JsonObject, place: string): void {
    const { type, call_id: id, output, ...rest } = item;
    const name = typeof type === "string" ? type : "";
    if (typeof id === "string" && name.endsWith("_output"))
      return this.#result(id, chatParts(jsonText(output ?? rest), this.#repairs));
    if (typeof id === "string" && name.endsWith("_call")) {
      const { id: _id, status: _status, ...input } = rest;
      return this.#call(id, namedFunction(name.slice(0, -"_call".length)), JSON.stringify(input));
    }
    this.#skip(`${place}: ${JSON.stringify(item)}`);
  }

  #skip(what: string): void {
    this.#repairs.add("item_skipped", what);
  }
}

/** Without the item that it means the model would answer out of context. */
function refuseReference(place: string): never {
  throw new WireError(
    "unsupported",
    `${place}: a Chat upstream keeps no items; send the item itself instead of a reference to it`,
    { param: place },
  );
}

function toolOf(
  kind: "function" | "custom",
  { name, namespace }: { name: string; namespace?: string | null },
): DeclaredTool {
  return namespace ? { kind, name, namespace } : { kind, name };
}

function namedFunction(name: string): DeclaredTool {
  return { kind: "function", name };
}

function jsonText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
