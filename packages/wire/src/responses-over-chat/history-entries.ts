import { WireError } from "../error.ts";
import { isObject, parseJson, type JsonObject, type JsonValue } from "../json.ts";
import { toChatParts } from "../mapping/chat-content.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatContentPart } from "../shapes/chat-request.ts";
import type {
  ResponseInputCallOutput,
  ResponseInputImageGenerationCall,
  ResponseInputItem,
  ResponseInputMessage,
  ResponseInputReasoning,
  ResponseInputHostedToolItem,
  ResponseTool,
  ResponseInputToolSearchOutput,
} from "../shapes/responses-request.ts";
import type { DeclaredTool } from "../tools/tool-translation.ts";
import type { OfferedTools } from "../tools/offer-tools.ts";

/** An input item as an entry of a Chat history, before reordering. */
export type HistoryEntry =
  | { type: "system"; role: "system" | "developer"; parts: ChatContentPart[] }
  /** `isNote`: true for content that the user did not write, such as a hosted tool call. It does not start a new turn. */
  | { type: "user"; parts: ChatContentPart[]; isNote: boolean }
  | { type: "assistant"; parts: ChatContentPart[] }
  | { type: "reasoning"; item: ResponseInputReasoning }
  | CallEntry
  | ResultEntry;

export interface CallEntry {
  type: "call";
  id: string;
  name: string;
  /** JSON for a function, plain text for a custom tool. */
  input: { kind: "function"; arguments: string } | { kind: "custom"; text: string };
  /** True if the result may come in a later request. */
  isAsync: boolean;
}

export interface ResultEntry {
  type: "result";
  id: string;
  parts: ChatContentPart[];
}

export function toHistoryEntries(
  input: string | readonly ResponseInputItem[],
  tools: OfferedTools,
  repairs: Repairs,
): HistoryEntry[] {
  const reader = new EntryReader(tools, repairs);
  if (typeof input === "string") reader.addUser(toChatParts(input, repairs), "input");
  else input.forEach((item, index) => reader.read(item, `input[${index}]`));
  return reader.entries;
}

class EntryReader {
  readonly entries: HistoryEntry[] = [];
  readonly #tools: OfferedTools;
  readonly #repairs: Repairs;
  /** The `call_id` of each local-shell call by item id, because the published type of the output refers to the item id. */
  readonly #shellCallIds = new Map<string, string>();

  constructor(tools: OfferedTools, repairs: Repairs) {
    this.#tools = tools;
    this.#repairs = repairs;
  }

  read(item: ResponseInputItem, path: string): void {
    switch (item.type) {
      case undefined:
      case null:
        if ("role" in item) return this.#addMessage(item, path);
        return rejectItemReference(path);
      case "message":
        return this.#addMessage(item, path);
      case "reasoning":
        return void this.entries.push({ type: "reasoning", item });
      case "function_call":
        return this.#addCall(item.call_id, toDeclaredTool("function", item), item.arguments);
      case "custom_tool_call":
        return this.#addCustomCall(item.call_id, toDeclaredTool("custom", item), item.input);
      case "local_shell_call": {
        const id = item.call_id ?? item.id ?? "";
        if (item.id) this.#shellCallIds.set(item.id, id);
        const { type: _type, ...action } = item.action;
        return this.#addCall(id, { kind: "local_shell" }, JSON.stringify(action));
      }
      case "shell_call":
        return this.#addCall(item.call_id, { kind: "shell" }, JSON.stringify(item.action));
      case "apply_patch_call":
        return this.#addCall(item.call_id, { kind: "apply_patch" }, JSON.stringify(item.operation));
      case "computer_call": {
        const actions = item.actions ?? item.action ?? {};
        return this.#addCall(item.call_id, toFunctionTool("computer"), JSON.stringify({ actions }));
      }
      case "program":
        return this.#addCall(
          item.call_id,
          toFunctionTool("program"),
          JSON.stringify({ code: item.code }),
        );
      case "tool_search_call":
        if (!item.call_id) return this.#addSkipRepair(`${path}: ${item.type} run by the server`);
        return this.#addCall(
          item.call_id,
          { kind: "tool_search" },
          toJsonText(item.arguments ?? {}),
        );
      case "function_call_output":
      case "custom_tool_call_output":
      case "local_shell_call_output":
      case "shell_call_output":
      case "apply_patch_call_output":
      case "computer_call_output":
      case "program_output":
        return this.#addResult(this.#resolveCallId(item), this.#toOutputParts(item));
      case "tool_search_output":
        if (!item.call_id) return; // created by the server: its tools are already declared
        return this.#addResult(
          item.call_id,
          toChatParts(this.#formatFoundTools(item), this.#repairs),
        );
      case "mcp_call": {
        this.#addCall(
          item.id,
          toDeclaredTool("function", { name: item.name, namespace: item.server_label }),
          item.arguments,
        );
        const errorText =
          item.error === undefined || item.error === null ? "" : toJsonText(item.error);
        return this.#addResult(item.id, toChatParts(item.output ?? errorText, this.#repairs));
      }
      case "web_search_call":
      case "file_search_call":
      case "code_interpreter_call":
      case "mcp_approval_request":
      case "mcp_approval_response":
        return this.#addNote(item);
      case "image_generation_call":
        return this.#addImage(item);
      case "additional_tools":
      case "configuration_update":
        return; // read by `collectDeclaredTools` and `resolveSettings`
      case "compaction":
      case "compaction_trigger":
      case "mcp_list_tools":
        return this.#addSkipRepair(`${path}: ${item.type}`);
      case "item_reference":
        return rejectItemReference(path);
      default:
        return this.#addUnknown(item, path);
    }
  }

  addUser(parts: ChatContentPart[], path: string): void {
    if (parts.length === 0) this.#addSkipRepair(`${path}: empty message`);
    else this.entries.push({ type: "user", parts, isNote: false });
  }

  #addMessage(item: ResponseInputMessage, path: string): void {
    const parts = toChatParts(item.content, this.#repairs);
    if (item.role === "user") return this.addUser(parts, path);
    if (parts.length === 0) return this.#addSkipRepair(`${path}: empty message`);
    // In Chat only user messages may have images and files.
    const text = parts.filter((part) => part.type === "text");
    const media = parts.filter((part) => part.type !== "text");
    if (text.length > 0)
      this.entries.push(
        item.role === "assistant"
          ? { type: "assistant", parts: text }
          : { type: "system", role: item.role, parts: text },
      );
    if (media.length === 0) return;
    this.#repairs.add("content_converted", `${path}: media of the role ${item.role}`);
    this.entries.push({ type: "user", parts: media, isNote: true });
  }

  #addCall(id: string, tool: DeclaredTool, text: string): void {
    const name = this.#tools.getCallName(tool);
    // Chat templates parse the arguments of earlier calls: vLLM answers 400 unless they are a JSON object.
    const json = text.trim() === "" ? "{}" : text;
    const isJsonObject = isObject(parseJson(json));
    if (!isJsonObject) this.#repairs.add("arguments_incomplete", `${id} ${name}`);
    const args = isJsonObject ? json : JSON.stringify({ input: text });
    const input = { kind: "function", arguments: args } as const;
    this.entries.push({ type: "call", id, name, input, isAsync: isAsync(tool) });
  }

  #addCustomCall(id: string, tool: DeclaredTool, text: string): void {
    const name = this.#tools.getCallName(tool);
    const input = { kind: "custom", text } as const;
    this.entries.push({ type: "call", id, name, input, isAsync: isAsync(tool) });
  }

  #addResult(id: string, parts: ChatContentPart[]): void {
    this.entries.push({ type: "result", id, parts });
  }

  #resolveCallId(item: ResponseInputCallOutput): string {
    const id = item.call_id ?? item.id ?? "";
    return item.type === "local_shell_call_output" ? (this.#shellCallIds.get(id) ?? id) : id;
  }

  #toOutputParts(item: ResponseInputCallOutput): ChatContentPart[] {
    const output = item.type === "program_output" ? item["result"] : item.output;
    if (item.type === "apply_patch_call_output")
      return toChatParts(
        [item["status"], output].filter((text) => typeof text === "string").join(": "),
        this.#repairs,
      );
    if (output === undefined || output === null) return [];
    if (typeof output === "string") return toChatParts(output, this.#repairs);
    const parts = Array.isArray(output) ? output : [output];
    return parts.flatMap((part) =>
      isObject(part) && typeof part["type"] === "string"
        ? toChatParts([{ ...part, type: part["type"] }], this.#repairs)
        : toChatParts(toJsonText(part), this.#repairs),
    );
  }

  #formatFoundTools(item: ResponseInputToolSearchOutput): string {
    const lines = item.tools.flatMap((tool) => this.#describeTool(tool));
    return lines.length === 0 ? "No tools found." : `Tools found:\n${lines.join("\n")}`;
  }

  #describeTool(tool: ResponseTool): string[] {
    if (tool.type === "namespace")
      return tool.tools.flatMap((inner) =>
        inner.type === "function" || inner.type === "custom"
          ? [
              this.#formatToolLine(
                { kind: inner.type, name: inner.name, namespace: tool.name },
                inner.description,
              ),
            ]
          : [],
      );
    return tool.type === "function" || tool.type === "custom"
      ? [this.#formatToolLine({ kind: tool.type, name: tool.name }, tool.description)]
      : [];
  }

  #formatToolLine(tool: DeclaredTool, description: string | null | undefined): string {
    const name = this.#tools.getCallName(tool);
    return description ? `- ${name}: ${description}` : `- ${name}`;
  }

  /** Adds a hosted tool call or approval as a user message: models would imitate such text in an assistant message. */
  #addNote(item: ResponseInputHostedToolItem): void {
    const { type, id: _id, status: _status, ...rest } = item;
    const text = `[${type}] ${JSON.stringify(rest)}`;
    this.entries.push({ type: "user", parts: [{ type: "text", text }], isNote: true });
  }

  #addImage(item: ResponseInputImageGenerationCall): void {
    const text = item.revised_prompt
      ? `[image_generation_call] ${item.revised_prompt}`
      : "[image_generation_call]";
    const parts: ChatContentPart[] = [{ type: "text", text }];
    const url = `data:image/${item.output_format ?? "png"};base64,${item.result ?? ""}`;
    if (item.result) parts.push({ type: "image_url", image_url: { url } });
    this.entries.push({ type: "user", parts, isNote: true });
  }

  /** An item of an unknown type is treated as a call or a result if it has the fields of one. */
  #addUnknown(item: JsonObject, path: string): void {
    const { type, call_id: id, output, ...rest } = item;
    const name = typeof type === "string" ? type : "";
    if (typeof id === "string" && name.endsWith("_output"))
      return this.#addResult(id, toChatParts(toJsonText(output ?? rest), this.#repairs));
    if (typeof id === "string" && name.endsWith("_call")) {
      const { id: _id, status: _status, ...input } = rest;
      return this.#addCall(
        id,
        toFunctionTool(name.slice(0, -"_call".length)),
        JSON.stringify(input),
      );
    }
    this.#addSkipRepair(`${path}: ${JSON.stringify(item)}`);
  }

  #addSkipRepair(detail: string): void {
    this.#repairs.add("item_skipped", detail);
  }
}

function isAsync(tool: DeclaredTool): boolean {
  return (tool.kind === "function" || tool.kind === "custom") && tool.async === true;
}

/** Throws, because the model would answer out of context without the referenced item. */
function rejectItemReference(path: string): never {
  throw new WireError(
    "unsupported",
    `${path}: item references are not supported for a Chat upstream; send the item itself`,
    { param: path },
  );
}

function toDeclaredTool(
  kind: "function" | "custom",
  item: { name: string; namespace?: string | null; async?: boolean | null },
): DeclaredTool {
  const { name, namespace, async } = item;
  return {
    kind,
    name,
    ...(namespace ? { namespace } : {}),
    ...(async === true ? { async } : {}),
  };
}

function toFunctionTool(name: string): DeclaredTool {
  return { kind: "function", name };
}

function toJsonText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
