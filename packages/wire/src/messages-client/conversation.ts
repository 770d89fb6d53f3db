import { WireError } from "../error.ts";
import type { FieldReport } from "../field-report.ts";
import { asString, isObject, nonEmptyString, type JsonObject } from "../json.ts";
import { hasBreakpoint, keepLastBreakpoints, setBreakpoint } from "../mapping/cache-breakpoints.ts";
import { hashReasoningText, type UnsealReasoning } from "../mapping/reasoning.ts";
import type { Repairs } from "../repairs.ts";
import type {
  MessageContentBlock,
  MessageParam,
  MessagesRequest,
  MessageTool,
} from "../shapes/messages-request.ts";
import type {
  ResponseInputContent,
  ResponseInputItem,
  ResponsesRequest,
  ResponseTool,
  ResponseToolChoice,
} from "../shapes/responses-request.ts";
import { toObjectSchema } from "../tools/json-schema.ts";
import { findBuiltInTool } from "./built-in-tools.ts";

export interface ReadMessagesOptions {
  /** The wire of the upstream. */
  target: "chat" | "responses";
  repairs: Repairs;
  report: FieldReport;
  /** Opens the signatures of thinking that this package wrote. Thinking with any other signature is dropped. */
  unseal?: UnsealReasoning | undefined;
  /** True if the upstream knows the effort `none`. Otherwise disabled thinking sends no effort. */
  knowsNoEffort: boolean;
  /** True if the upstream takes cache breakpoints of parts. Otherwise cache marks are dropped. */
  acceptsBreakpoints: boolean;
  /** True if the upstream takes a parameter of Responses that not every server knows. */
  accepts: (name: "safety_identifier" | "user" | "prompt_cache_key" | "top_k") => boolean;
  /** Identifies the client's session, for the cache key. Default: `metadata.user_id`. */
  sessionId?: string | undefined;
  /** Returns a value for an account or session that cannot be traced back. Without it neither is sent. */
  hash?: ((text: string) => string) | undefined;
}

/**
 * Translates a request from `decodeMessagesRequest` into a Responses request, in which all wires meet. Its field `stop` is of
 * Chat. Throws `WireError` for what no other wire can express.
 */
export function readMessagesRequest(
  request: MessagesRequest,
  options: ReadMessagesOptions,
): ResponsesRequest {
  const { report } = options;
  assertTranslatable(request);
  const history = new HistoryReader(options);
  const system = readSystem(request.system, options);
  const instructions = system.map(({ text }) => text).join("\n\n");
  // A Chat upstream takes marks in its system message, a Responses upstream none in its instructions.
  const hasMarks = options.target === "chat" && system.some(hasBreakpoint);
  if (hasMarks) history.items.push({ type: "message", role: "system", content: system });
  for (const { message, path } of mergeUserTurns(request.messages)) history.read(message, path);
  history.end();
  keepLastBreakpoints(history.items.flatMap(getParts), options.repairs);
  report.translate("messages", "input");
  const tools = readTools(request, options);
  const conversation: ResponsesRequest = {
    ...(instructions === "" || hasMarks ? {} : { instructions }),
    input: history.items,
    ...(tools.length === 0 ? {} : { tools }),
    ...readToolChoice(request, tools, options),
    ...readParameters(request, { effort: history.effort, instructions }, options),
  };
  for (const name of Object.keys(request))
    if (request[name] !== undefined && request[name] !== null && !report.has(name))
      report.drop(name, droppedFields[name] ?? "unknown to the other wires");
  return conversation;
}

const cachesAutomatically = "the upstream caches automatically";

/** Why a known field is dropped. */
const droppedFields: Readonly<Record<string, string>> = {
  top_k: "not part of the other wires",
  cache_control: cachesAutomatically,
  context_management: "tunes Anthropic's server",
  compaction: "tunes Anthropic's server",
  container: "tunes Anthropic's server",
  fallbacks: "tunes Anthropic's server",
  speed: "tunes Anthropic's server",
  inference_geo: "tunes Anthropic's server",
  diagnostics: "tunes Anthropic's server",
  safeguards: "holds data of the user's machine",
};

/** The first block of Claude Code's system text, which differs between conversations. */
const attributionPrefix = "x-anthropic-billing-header";

function assertTranslatable({ mcp_servers: servers }: MessagesRequest): void {
  if (servers === undefined || servers === null || servers.length === 0) return;
  throw new WireError(
    "unsupported",
    "mcp_servers: MCP servers can only be called by Anthropic; connect them to the client",
    { param: "mcp_servers" },
  );
}

/** Returns one part per block, except for blank ones and Claude Code's attribution. */
function readSystem(
  system: MessagesRequest["system"],
  { report, target, acceptsBreakpoints }: ReadMessagesOptions,
): ResponseInputContent[] {
  if (system === undefined || system === null) return [];
  report.translate("system", "instructions");
  const path = "system[].cache_control";
  return toBlocks(system).flatMap(({ text = "", cache_control: mark }) => {
    if (text.startsWith(attributionPrefix)) {
      report.drop("system[].text", "the attribution block is for Anthropic");
      return [];
    }
    const parts = toTextParts(text);
    const part = parts[0];
    if (!mark || part === undefined) return parts;
    if (target === "chat" && acceptsBreakpoints) {
      setBreakpoint(part);
      report.translate(path, "prompt_cache_breakpoint");
    } else report.drop(path, target === "chat" ? cachesAutomatically : "covered by the cache key");
    return parts;
  });
}

/** Joins consecutive user messages, which Anthropic treats as one turn. */
function mergeUserTurns(
  messages: readonly MessageParam[],
): { message: MessageParam; path: string }[] {
  const turns: { message: MessageParam; path: string }[] = [];
  messages.forEach((message, index) => {
    const last = turns.at(-1);
    if (message.role !== "user" || last?.message.role !== "user")
      return turns.push({ message, path: `messages[${index}]` });
    const content = [...toBlocks(last.message.content), ...toBlocks(message.content)];
    last.message = { ...last.message, content };
    return undefined;
  });
  return turns;
}

interface PendingCall {
  /** The id that is sent upstream. */
  id: string;
}

/** Converts turns to items: results directly after their calls, in the order of the calls. */
class HistoryReader {
  readonly items: ResponseInputItem[] = [];
  /** The effort of the last turn that sets one. */
  effort: string | undefined;
  readonly #options: ReadMessagesOptions;
  readonly #usedIds = new Set<string>();
  /** The calls of the last assistant turn that have no result yet, by the client's id. */
  #pending = new Map<string, PendingCall>();

  constructor(options: ReadMessagesOptions) {
    this.#options = options;
  }

  read(message: MessageParam, path: string): void {
    const blocks: MessageContentBlock[] =
      typeof message.content === "string"
        ? [{ type: "text", text: message.content }]
        : message.content;
    if (message.role === "system") this.#readSystem(message, blocks);
    else if (message.role === "assistant") this.#readAssistant(blocks);
    else this.#readUser(blocks, path);
  }

  /** Adds results for the calls that have none. */
  end(): void {
    for (const [clientId, { id }] of this.#pending) {
      this.#options.repairs.add("call_without_result", clientId);
      this.#addResult(id, "[no result: interrupted]");
    }
    this.#pending.clear();
  }

  #readSystem(message: MessageParam, blocks: readonly MessageContentBlock[]): void {
    const effort = nonEmptyString(message.output_config?.effort);
    if (effort !== undefined) this.effort = effort;
    const parts = toTextParts(joinTexts(blocks));
    this.#mark(parts, blocks);
    if (parts.length > 0) this.#addMessage("developer", parts);
  }

  #readUser(blocks: readonly MessageContentBlock[], path: string): void {
    const results = new Map<string, MessageContentBlock>();
    const content: ResponseInputContent[] = [];
    blocks.forEach((block, index) => {
      if (block.type !== "tool_result") {
        const parts = this.#readContent(block, path);
        this.#mark(parts, [block]);
        return content.push(...parts);
      }
      const id = block.tool_use_id ?? "";
      if (!this.#pending.has(id)) rejectResult(id, `${path}.content[${index}]`);
      results.set(id, block);
      return undefined;
    });
    for (const [clientId, { id }] of this.#pending) {
      const block = results.get(clientId);
      if (block === undefined) continue;
      this.#pending.delete(clientId);
      this.#addResult(id, this.#readResult(block, path));
    }
    this.end();
    if (content.length > 0) this.#addMessage("user", content);
  }

  #readAssistant(blocks: readonly MessageContentBlock[]): void {
    this.end();
    for (const block of blocks) {
      if (block.cache_control) this.#drop(markPath, "only the user's content has breakpoints");
      switch (block.type) {
        case "text":
          if (Array.isArray(block["citations"]) && block["citations"].length > 0)
            this.#drop("messages[].content[].citations", "not part of the other wires");
          if (block.text !== undefined && block.text.trim() !== "")
            this.#addMessage("assistant", [
              { type: "output_text", text: block.text, annotations: [] },
            ]);
          break;
        case "thinking":
          this.#addReasoning(block);
          break;
        case "redacted_thinking":
          this.#options.repairs.add("reasoning_dropped", "redacted by another upstream");
          this.#drop(`messages[].content[] of type ${block.type}`, "signed by another provider");
          break;
        case "tool_use":
          this.#addCall(block);
          break;
        case "compaction": {
          const text = joinTexts(toBlocks(block.content));
          if (text !== "") this.#addMessage("user", [{ type: "input_text", text }]);
          break;
        }
        default:
          this.#options.repairs.add("item_skipped", block.type);
          this.#drop(`messages[].content[] of type ${block.type}`, "run by Anthropic's server");
      }
    }
  }

  #addReasoning({ thinking = "", signature }: MessageContentBlock): void {
    const sealed = nonEmptyString(signature);
    const opaque = sealed === undefined ? undefined : this.#options.unseal?.(sealed);
    const isChanged =
      opaque?.textHash !== undefined && opaque.textHash !== hashReasoningText(thinking);
    if (sealed === undefined || opaque === undefined || isChanged) {
      const reason = isChanged ? "changed by the client" : "signed by another provider";
      this.#options.repairs.add("reasoning_dropped", reason);
      return this.#drop("messages[].content[].thinking", reason);
    }
    const summary = thinking === "" ? [] : [{ type: "summary_text", text: thinking }];
    if (this.#options.target === "chat") {
      this.items.push({ type: "reasoning", summary, encrypted_content: sealed });
      return;
    }
    const encrypted = (opaque.details ?? []).flatMap((detail) => {
      const data = nonEmptyString(detail["data"]);
      return data === undefined ? [] : [{ id: nonEmptyString(detail["id"]), data }];
    });
    if (encrypted.length === 0) this.#options.repairs.add("reasoning_dropped", "not encrypted");
    encrypted.forEach(({ id, data }, index) => {
      this.items.push({
        type: "reasoning",
        ...(id === undefined ? {} : { id }),
        summary: index === 0 ? summary : [],
        encrypted_content: data,
      });
    });
  }

  #addCall({ id: clientId = "", name = "", input = {} }: MessageContentBlock): void {
    const id = this.#claimId(clientId);
    this.#pending.set(clientId, { id });
    this.items.push({
      type: "function_call",
      call_id: id,
      name,
      arguments: JSON.stringify(input),
    });
  }

  /** Returns an id that is not longer than other servers accept, and that no earlier call has. */
  #claimId(clientId: string): string {
    let id = clientId.slice(0, maxIdLength);
    for (let count = 2; this.#usedIds.has(id); count += 1)
      id = `${clientId.slice(0, maxIdLength - 8)}_${count}`;
    this.#usedIds.add(id);
    return id;
  }

  #addResult(id: string, output: string | ResponseInputContent[]): void {
    this.items.push({ type: "function_call_output", call_id: id, output });
  }

  /** Turns the cache mark of one of the blocks into a breakpoint of the last part, up to which the prefix is cached. */
  #mark(parts: readonly ResponseInputContent[], blocks: readonly MessageContentBlock[]): void {
    const mark = blocks.find(({ cache_control }) => cache_control)?.cache_control;
    if (!mark) return;
    const part = parts.at(-1);
    if (!this.#options.acceptsBreakpoints) return this.#drop(markPath, cachesAutomatically);
    if (part === undefined) return this.#drop(markPath, "the block has no content");
    setBreakpoint(part);
    this.#options.report.translate(markPath, "prompt_cache_breakpoint");
    if (mark["ttl"] !== undefined) this.#drop(`${markPath}.ttl`, "breakpoints have none");
  }

  #readResult(block: MessageContentBlock, path: string): string | ResponseInputContent[] {
    const inner = toBlocks(block.content);
    const parts = inner.flatMap((innerBlock) => this.#readContent(innerBlock, path));
    if (block.is_error === true) {
      const first = parts[0];
      if (first?.type === "input_text") first.text = `[tool error] ${first.text}`;
      else parts.unshift({ type: "input_text", text: "[tool error]" });
    }
    if (parts.length === 0) {
      this.#options.repairs.add("content_converted", `the empty result of ${block.tool_use_id}`);
      return "(no output)";
    }
    const isText = parts.every(({ type }) => type === "input_text");
    const text = parts.map((part) => part.text).join("\n\n");
    const marked = [block, ...inner];
    if (!isText || (this.#options.target === "chat" && this.#options.acceptsBreakpoints)) {
      const content = isText ? toTextParts(text) : parts;
      this.#mark(content, marked);
      return isText && !content.some(hasBreakpoint) ? text : content;
    }
    // As parts the text would be rejected by servers such as Ollama, and OpenAI caches up to the last item anyway.
    if (marked.some(({ cache_control }) => cache_control))
      this.#drop(markPath, cachesAutomatically);
    return text;
  }

  #readContent(block: MessageContentBlock, path: string): ResponseInputContent[] {
    switch (block.type) {
      case "text":
        return toTextParts(block.text ?? "");
      case "image":
        return [{ type: "input_image", image_url: readImage(block, path), detail: "auto" }];
      case "document":
        return this.#readDocument(block, path);
      case "search_result":
        return toTextParts(
          joinLines(block["title"], block.source, joinTexts(toBlocks(block.content))),
        );
      case "tool_reference":
        return toTextParts(`The tool ${nonEmptyString(block["tool_name"])} is available now.`);
      default:
        this.#options.repairs.add("item_skipped", block.type);
        this.#drop(`messages[].content[] of type ${block.type}`, "not part of the other wires");
        return [];
    }
  }

  #readDocument(block: MessageContentBlock, path: string): ResponseInputContent[] {
    const source = isObject(block.source) ? block.source : {};
    const title = nonEmptyString(block["title"]);
    const heading = joinLines(title, block["context"]);
    switch (source["type"]) {
      case "text":
        return toTextParts(joinLines(heading, source["data"]));
      case "content": {
        const inner = toBlocks(source["content"]).flatMap((part) => this.#readContent(part, path));
        return [...toTextParts(heading), ...inner];
      }
      case "base64": {
        const mediaType = nonEmptyString(source["media_type"]) ?? "application/pdf";
        const data = nonEmptyString(source["data"]) ?? "";
        const file_data = `data:${mediaType};base64,${data}`;
        return [{ type: "input_file", filename: title ?? "document.pdf", file_data }];
      }
      case "url":
        if (this.#options.target === "responses")
          return [{ type: "input_file", file_url: nonEmptyString(source["url"]) ?? "" }];
        return rejectSource("document", "url", path);
      default:
        return rejectSource("document", nonEmptyString(source["type"]), path);
    }
  }

  #addMessage(role: "user" | "assistant" | "developer", content: ResponseInputContent[]): void {
    this.items.push({ type: "message", role, content });
  }

  #drop(path: string, reason: string): void {
    this.#options.report.drop(path, reason);
  }
}

const markPath = "messages[].content[].cache_control";

function getParts(item: ResponseInputItem): JsonObject[] {
  const { content, output } = item as JsonObject;
  return [content, output].flatMap((parts) => (Array.isArray(parts) ? parts.filter(isObject) : []));
}

/** OpenAI's limit for call ids. */
const maxIdLength = 64;

function toBlocks(content: unknown): MessageContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content.filter(isObject) as MessageContentBlock[]) : [];
}

function joinTexts(blocks: readonly MessageContentBlock[]): string {
  return blocks
    .map(({ text }) => text ?? "")
    .filter((text) => text.trim() !== "")
    .join("\n\n");
}

/** Joins the values that are text and not empty. */
function joinLines(...values: unknown[]): string {
  return values.map(asString).filter(nonEmptyString).join("\n");
}

function toTextParts(text: string): ResponseInputContent[] {
  return text.trim() === "" ? [] : [{ type: "input_text", text }];
}

function readImage({ source }: MessageContentBlock, path: string): string {
  const fields = isObject(source) ? source : {};
  const data = nonEmptyString(fields["data"]);
  if (fields["type"] === "base64" && data !== undefined)
    return `data:${nonEmptyString(fields["media_type"]) ?? "image/png"};base64,${data}`;
  const url = nonEmptyString(fields["url"]);
  if (fields["type"] === "url" && url !== undefined) return url;
  return rejectSource("image", nonEmptyString(fields["type"]), path);
}

function rejectSource(kind: string, type: string | undefined, path: string): never {
  throw new WireError(
    "unsupported",
    `${path}: ${kind} source ${JSON.stringify(type ?? null)} is not supported for this upstream; send the data as base64`,
    { param: path },
  );
}

/** Throws in Anthropic's words, by which clients recognize the cause. */
function rejectResult(id: string, path: string): never {
  throw new WireError(
    "invalid_request",
    `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    { param: path },
  );
}

function readTools({ tools }: MessagesRequest, options: ReadMessagesOptions): ResponseTool[] {
  if (tools === undefined || tools === null) return [];
  options.report.translate("tools", "tools");
  return tools.flatMap((tool) => readTool(tool, options));
}

function readTool(tool: MessageTool, options: ReadMessagesOptions): ResponseTool[] {
  const { report, repairs, target } = options;
  for (const field of droppedToolFields)
    if (tool[field] !== undefined && tool[field] !== null)
      report.drop(`tools[].${field}`, "not part of the other wires");
  const { type, name = "", description } = tool;
  if (type !== undefined && type !== null && type !== "custom") {
    const builtIn = findBuiltInTool(type);
    if (builtIn !== undefined) return [{ type: "function", name, strict: false, ...builtIn }];
    if (type.startsWith("web_search") && target === "responses") return [webSearchTool];
    if (tool.input_schema === undefined) {
      repairs.add("tool_dropped", type);
      report.drop(`tools[] of type ${type}`, "run by Anthropic's server");
      return [];
    }
  }
  const parameters = toObjectSchema(tool.input_schema);
  if (parameters !== tool.input_schema) repairs.add("tool_schema_completed", name);
  const strict = tool["strict"] === true;
  return [{ type: "function", name, ...(description ? { description } : {}), parameters, strict }];
}

/** A hosted tool, which `ResponseTool` does not list. */
const webSearchTool = { type: "web_search" } as unknown as ResponseTool;

const droppedToolFields = [
  "defer_loading",
  "input_examples",
  "eager_input_streaming",
  "allowed_callers",
  "cache_control",
];

function readToolChoice(
  { tool_choice: choice, tools: declared }: MessagesRequest,
  tools: readonly ResponseTool[],
  { report }: ReadMessagesOptions,
): Pick<ResponsesRequest, "tool_choice" | "parallel_tool_calls"> {
  if (choice === undefined || choice === null) return {};
  report.translate("tool_choice", "tool_choice");
  const isServerTool = (declared ?? []).some(
    ({ name, type }) => name === choice.name && Boolean(type) && type !== "custom",
  );
  const hostedType = (declared ?? []).find(({ name }) => name === choice.name)?.type;
  const isSearch = hostedType?.startsWith("web_search") === true && tools.includes(webSearchTool);
  const isOffered = isSearch || tools.some((tool) => tool["name"] === choice.name);
  if (choice.type === "tool" && isServerTool && !isOffered)
    throw new WireError(
      "unsupported",
      `tool_choice.name: ${JSON.stringify(choice.name)} is run by Anthropic's server, which this upstream does not have`,
      { param: "tool_choice.name" },
    );
  if (tools.length === 0) return {};
  const parallel = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {};
  const hosted = isSearch && choice.type === "tool" ? { type: "web_search" } : undefined;
  return { tool_choice: hosted ?? toResponsesChoice(choice), ...parallel };
}

function toResponsesChoice({
  type,
  name = "",
}: NonNullable<MessagesRequest["tool_choice"]>): ResponseToolChoice {
  if (type === "tool") return { type: "function", name };
  return type === "any" ? "required" : type;
}

function readParameters(
  request: MessagesRequest,
  history: { effort: string | undefined; instructions: string },
  options: ReadMessagesOptions,
): ResponsesRequest {
  const { report, target } = options;
  const parameters: ResponsesRequest = { model: request.model };
  report.preserve("model");
  const set = (name: string, target: string, value: JsonObject[string]): void => {
    parameters[target] = value;
    if (name === target) report.preserve(name);
    else report.translate(name, target);
  };
  for (const name of ["stream", "temperature", "top_p"] as const)
    if (request[name] !== undefined && request[name] !== null) set(name, name, request[name]);
  if (typeof request.max_tokens === "number")
    set("max_tokens", "max_output_tokens", request.max_tokens);
  readStopSequences(request, options, set);
  const reasoning = readReasoning(request, history.effort, options);
  if (reasoning !== undefined) parameters.reasoning = reasoning;
  const format = request.output_config?.format;
  if (format?.["type"] === "json_schema" && isObject(format["schema"])) {
    parameters.text = {
      format: { type: "json_schema", name: "output", schema: format["schema"], strict: false },
    };
    report.translate("output_config.format", "text.format");
  }
  for (const name of Object.keys(request.output_config ?? {}))
    if (name !== "effort" && name !== "format")
      report.drop(`output_config.${name}`, "not part of the other wires");
  const tier = nonEmptyString(request.service_tier);
  if (tier !== undefined)
    set("service_tier", "service_tier", tier === "standard_only" ? "default" : tier);
  if (request.top_k !== undefined && request.top_k !== null && options.accepts("top_k"))
    set("top_k", "top_k", request.top_k);
  const identifiers = buildIdentifiers(request, history.instructions, options);
  if (Object.keys(identifiers).length > 0)
    report.translate("metadata", Object.keys(identifiers).join(", "));
  else if (request.metadata) report.drop("metadata", "names an account and a device");
  Object.assign(parameters, identifiers);
  if (target === "responses") {
    parameters.store = false;
    parameters.include = ["reasoning.encrypted_content"];
  }
  return parameters;
}

/** Returns the fields that stand for the user and the session, hashed. The cache key also depends on the system text. */
function buildIdentifiers(
  { metadata }: MessagesRequest,
  instructions: string,
  { accepts, hash, sessionId }: ReadMessagesOptions,
): Pick<ResponsesRequest, "safety_identifier" | "user" | "prompt_cache_key"> {
  if (hash === undefined) return {};
  const userId = nonEmptyString(metadata?.["user_id"]);
  const session = sessionId ?? userId;
  const userField = (["safety_identifier", "user"] as const).find(accepts);
  return {
    ...(userId !== undefined && userField !== undefined ? { [userField]: hash(userId) } : {}),
    ...(session !== undefined && accepts("prompt_cache_key")
      ? { prompt_cache_key: hash(`${session} ${instructions}`) }
      : {}),
  };
}

/** The other wires have at most four stop sequences; Responses has none. */
const maxStopSequences = 4;

function readStopSequences(
  { stop_sequences: sequences }: MessagesRequest,
  { target }: ReadMessagesOptions,
  set: (name: string, target: string, value: string[]) => void,
): void {
  const stop = (sequences ?? []).filter((sequence) => sequence !== "");
  if (stop.length === 0) return;
  if (target === "responses" || stop.length > maxStopSequences)
    throw new WireError(
      "unsupported",
      target === "responses"
        ? "stop_sequences: not supported by a Responses upstream"
        : `stop_sequences: a Chat upstream supports at most ${maxStopSequences}`,
      { param: "stop_sequences" },
    );
  set("stop_sequences", "stop", stop);
}

/** Thinking budgets in tokens up to which an effort counts as low or medium. */
const maxLowBudget = 4096;
const maxMediumBudget = 16_000;

function readReasoning(
  { thinking, output_config: config }: MessagesRequest,
  turnEffort: string | undefined,
  { report, knowsNoEffort }: ReadMessagesOptions,
): ResponsesRequest["reasoning"] | undefined {
  const effort = turnEffort ?? nonEmptyString(config?.effort);
  if (effort !== undefined) report.translate("output_config.effort", "reasoning.effort");
  if (config) report.translate("output_config", "reasoning.effort, text.format");
  if (thinking === undefined || thinking === null)
    return effort === undefined ? undefined : { effort: toKnownEffort(effort) };
  report.translate("thinking", "reasoning");
  if (thinking.type === "disabled") return knowsNoEffort ? { effort: "none" } : undefined;
  const summary = thinking.display === "omitted" ? {} : { summary: "auto" };
  if (effort !== undefined) return { effort: toKnownEffort(effort), ...summary };
  if (thinking.type !== "enabled") return summary;
  const budget = thinking.budget_tokens ?? 0;
  return { effort: toBudgetEffort(budget), ...summary };
}

function toBudgetEffort(budget: number): string {
  if (budget <= maxLowBudget) return "low";
  return budget <= maxMediumBudget ? "medium" : "high";
}

/** OpenAI's highest effort is `xhigh`. */
function toKnownEffort(effort: string): string {
  return effort === "max" ? "xhigh" : effort;
}
