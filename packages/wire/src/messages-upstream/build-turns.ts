import { WireError } from "../error.ts";
import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { toCacheMark } from "../mapping/cache-breakpoints.ts";
import { messagesReasoningFormat } from "../mapping/reasoning.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatToolCall,
} from "../shapes/chat-request.ts";
import type { MessageContentBlock, MessageParam } from "../shapes/messages-request.ts";
import { shortHash } from "../short-hash.ts";
import type { MessagesFlags } from "./messages-flags.ts";

export interface BuildTurnsOptions {
  flags: MessagesFlags;
  repairs: Repairs;
}

export interface BuiltTurns {
  /** The texts of the system messages before the first turn, with their cache marks. */
  system: MessageContentBlock[];
  messages: MessageParam[];
  /** True if the calls that are being answered have no thinking before them: then the API rejects thinking. */
  lacksThinking: boolean;
}

/**
 * Converts ordered Chat messages (calls are directly followed by their results) to turns: neighbors of one role are one turn,
 * in which results come first. `reasoning_details` must be those of this upstream, unsealed.
 */
export function buildTurns(
  messages: readonly ChatMessage[],
  options: BuildTurnsOptions,
): BuiltTurns {
  const builder = new TurnBuilder(options);
  for (const message of messages) builder.add(message);
  return builder.build();
}

class TurnBuilder {
  readonly #options: BuildTurnsOptions;
  readonly #system: MessageContentBlock[] = [];
  readonly #turns: { role: "user" | "assistant" | "system"; content: MessageContentBlock[] }[] = [];
  readonly #callIds = new Map<string, string>();
  readonly #usedIds = new Set<string>();

  constructor(options: BuildTurnsOptions) {
    this.#options = options;
  }

  add(message: ChatMessage): void {
    switch (message.role) {
      case "system":
      case "developer":
        return this.#addSystem(toSystemBlocks(message.content));
      case "user":
        return this.#append("user", this.#toBlocks(message.content));
      case "tool":
        return this.#addResult(message.tool_call_id, message.content);
      case "assistant":
        return this.#addAssistant(message);
      default:
        // `function` was converted to `tool` before.
        this.#options.repairs.add("item_skipped", message.role);
    }
  }

  build(): BuiltTurns {
    if (this.#turns.length === 0) {
      // The API requires a turn of the user.
      const content = this.#system.splice(0);
      if (content.length === 0)
        throw new WireError("invalid_request", "messages: no message has content", {
          param: "messages",
        });
      this.#append("user", content);
    }
    if (this.#turns[0]?.role === "assistant") {
      this.#options.repairs.add("history_reordered", "a turn of the user before the first reply");
      this.#turns.unshift({ role: "user", content: [{ type: "text", text: "(continued)" }] });
    }
    const last = this.#turns.at(-1);
    const lastBlock = last?.content.at(-1);
    if (last?.role === "assistant" && lastBlock?.type === "text")
      lastBlock.text = lastBlock.text?.trimEnd() ?? "";
    return {
      system: this.#system,
      messages: this.#turns.map(({ role, content }) => ({ role, content })),
      lacksThinking: this.#lacksThinking(),
    };
  }

  #addSystem(blocks: MessageContentBlock[]): void {
    if (blocks.length === 0) return;
    if (this.#turns.length === 0) return void this.#system.push(...blocks);
    const { lateSystemMessages = "reminder" } = this.#options.flags;
    // The role is allowed only behind a turn of the user; what may follow it is checked when the next turn is added.
    if (lateSystemMessages === "keep" && this.#turns.at(-1)?.role === "user")
      return void this.#turns.push({ role: "system", content: blocks });
    this.#options.repairs.add("role_mapped", "a later system message sent as a reminder");
    this.#append("user", [toReminder(blocks)]);
  }

  #addAssistant(message: ChatAssistantMessage): void {
    const content = [
      ...this.#toThinking(message),
      ...this.#toBlocks(message.content ?? ""),
      ...toTextBlocks(message.refusal ?? ""),
      ...(message.tool_calls ?? []).map((call) => this.#toToolUse(call)),
    ];
    this.#append("assistant", content);
  }

  /** Returns the thinking of the upstream unchanged. Thinking that another upstream signed is dropped. */
  #toThinking(message: ChatAssistantMessage): MessageContentBlock[] {
    const { flags, repairs } = this.#options;
    const rawDetails = message.reasoning_details;
    const details = Array.isArray(rawDetails) ? rawDetails.filter(isObject) : [];
    const blocks = details.flatMap(toThinkingBlock);
    const text = nonEmptyString(message.reasoning_content) ?? nonEmptyString(message.reasoning);
    if (flags.dropThinking !== true && blocks.length > 0) return blocks;
    if (flags.dropThinking !== true && flags.unsignedThinking === true && text !== undefined)
      return [{ type: "thinking", thinking: text, signature: "" }];
    if (text !== undefined || blocks.length > 0)
      repairs.add("reasoning_dropped", text ?? "not accepted by the upstream");
    return [];
  }

  #toToolUse(call: ChatToolCall): MessageContentBlock {
    const { name, text } =
      call.type === "custom"
        ? { name: call.custom.name, text: JSON.stringify({ input: call.custom.input }) }
        : { name: call.function.name, text: call.function.arguments };
    const value = text.trim() === "" ? {} : parseJson(text);
    const input = isObject(value) ? value : { input: text };
    if (!isObject(value)) this.#options.repairs.add("arguments_incomplete", `${call.id} ${name}`);
    return { type: "tool_use", id: this.#toLegalId(call.id), name, input };
  }

  #addResult(callId: string, content: ChatContent): void {
    const blocks = this.#toBlocks(content);
    const first = blocks[0];
    const isError = first?.text?.startsWith(errorPrefix) === true;
    if (isError && first?.text !== undefined) first.text = first.text.slice(errorPrefix.length);
    const onlyText = blocks.length === 1 && first?.type === "text" ? first.text : undefined;
    const mark = takeMark(blocks);
    this.#append("user", [
      {
        type: "tool_result",
        tool_use_id: this.#toLegalId(callId),
        content: onlyText ?? (blocks.length === 0 ? "(no output)" : blocks),
        ...(isError ? { is_error: true } : {}),
        ...(mark === undefined ? {} : { cache_control: mark }),
      },
    ]);
  }

  /** Adds content to the last turn of the role. A result that does not come first in its turn is moved. */
  #append(role: "user" | "assistant", content: MessageContentBlock[]): void {
    if (content.length === 0) return;
    let last = this.#turns.at(-1);
    if (last?.role === "system" && role === "user") {
      // Between two turns of the user the role `system` is not allowed.
      this.#turns.pop();
      this.#append("user", [toReminder(last.content)]);
      last = this.#turns.at(-1);
    }
    if (last?.role !== role) return void this.#turns.push({ role, content });
    for (const block of content) {
      if (block.type !== "tool_result") {
        last.content.push(block);
        continue;
      }
      const end = last.content.findIndex(({ type }) => type !== "tool_result");
      last.content.splice(end === -1 ? last.content.length : end, 0, block);
    }
  }

  #toBlocks(content: ChatContent): MessageContentBlock[] {
    if (typeof content === "string") return toTextBlocks(content);
    return content.flatMap((part) => {
      const blocks = this.#toBlock(part);
      const block = blocks.at(-1);
      const mark = toCacheMark(part);
      if (block !== undefined && mark !== undefined) block.cache_control = mark;
      return blocks;
    });
  }

  #toBlock(part: ChatContentPart): MessageContentBlock[] {
    switch (part.type) {
      case "text":
        return toTextBlocks(part.text);
      case "refusal":
        return toTextBlocks(part.refusal);
      case "image_url":
        return [{ type: "image", source: toSource(part.image_url.url) }];
      case "file":
        return this.#toDocument(part.file);
      default:
        this.#options.repairs.add("content_converted", `[${part.type}]`);
        return toTextBlocks(`[${part.type}]`);
    }
  }

  #toDocument(file: (ChatContentPart & { type: "file" })["file"]): MessageContentBlock[] {
    const data = nonEmptyString(file.file_data);
    if (data === undefined)
      throw new WireError(
        "unsupported",
        "file: a file id of another API is not supported by a Messages upstream; send the data of the file",
        { param: "file" },
      );
    const title = nonEmptyString(file.filename);
    const titleField = title === undefined ? {} : { title };
    const source = toSource(data);
    if (source["media_type"] === "application/pdf")
      return [{ type: "document", source, ...titleField }];
    this.#options.repairs.add("content_converted", `[file: ${title ?? ""}]`);
    return toTextBlocks(`[file: ${title ?? "without a name"}]`);
  }

  /** Returns an id of the letters that the API allows, the same for a call and its result. */
  #toLegalId(id: string): string {
    const known = this.#callIds.get(id);
    if (known !== undefined) return known;
    let legal = /^[A-Za-z0-9_-]+$/.test(id)
      ? id
      : `${id.replaceAll(/[^A-Za-z0-9_-]+/g, "_")}_${shortHash(id)}`;
    while (this.#usedIds.has(legal)) legal = `${legal}_`;
    this.#usedIds.add(legal);
    this.#callIds.set(id, legal);
    return legal;
  }

  #lacksThinking(): boolean {
    const turn = this.#turns.findLast(({ role }) => role === "assistant");
    const last = this.#turns.at(-1);
    const isAnswered = last?.content.some(({ type }) => type === "tool_result") === true;
    const isPrefill = last?.role === "assistant";
    if (turn === undefined || (!isAnswered && !isPrefill)) return false;
    return turn.content[0]?.type.endsWith("thinking") !== true;
  }
}

/** The mark of a failed result on wires without a field for it. */
const errorPrefix = "[tool error] ";

function toThinkingBlock(detail: JsonObject): MessageContentBlock[] {
  if (detail["format"] !== messagesReasoningFormat) return [];
  const { text, signature, data } = detail;
  if (detail["type"] === "reasoning.encrypted" && typeof data === "string")
    return [{ type: "redacted_thinking", data }];
  if (typeof signature !== "string" || signature === "") return [];
  return [{ type: "thinking", thinking: typeof text === "string" ? text : "", signature }];
}

function toTextBlocks(text: string): MessageContentBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** Returns one block per message, or one per text if one of them has a cache mark. */
function toSystemBlocks(content: ChatContent): MessageContentBlock[] {
  if (typeof content === "string") return toTextBlocks(content);
  const parts = content.filter((part) => part.type === "text");
  if (parts.every((part) => toCacheMark(part) === undefined))
    return toTextBlocks(parts.map(({ text }) => text).join("\n\n"));
  return parts.flatMap((part) => {
    const mark = toCacheMark(part);
    const markField = mark === undefined ? {} : { cache_control: mark };
    return toTextBlocks(part.text).map((block) => ({ ...block, ...markField }));
  });
}

/** Removes the marks of the blocks inside a result and returns the last one: only the result itself may have one. */
function takeMark(blocks: readonly MessageContentBlock[]): JsonObject | undefined {
  let mark: JsonObject | undefined;
  for (const block of blocks) {
    mark = block.cache_control ?? mark;
    delete block.cache_control;
  }
  return mark;
}

function toReminder(blocks: readonly MessageContentBlock[]): MessageContentBlock {
  const text = blocks.map((block) => block.text ?? "").join("\n\n");
  const mark = blocks.findLast(({ cache_control }) => cache_control)?.cache_control;
  return {
    type: "text",
    text: `<system-reminder>\n${text}\n</system-reminder>`,
    ...(mark ? { cache_control: mark } : {}),
  };
}

/** Converts a data URL or another URL to the source of an image or a document. */
function toSource(url: string): JsonObject {
  const comma = url.startsWith("data:") ? url.indexOf(",") : -1;
  if (comma === -1) return { type: "url", url };
  const [mediaType = "", ...parameters] = url.slice("data:".length, comma).split(";");
  if (!parameters.includes("base64")) return { type: "url", url };
  return { type: "base64", media_type: mediaType, data: url.slice(comma + 1) };
}
