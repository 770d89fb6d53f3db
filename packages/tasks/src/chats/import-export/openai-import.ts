import type { JsonValue } from "../../json.ts";
import type { OutputItem } from "../../items.ts";
import { maxMessages, createTooManyMessagesProblem } from "../chat-limits.ts";
import { checkTitle } from "../chat-schemas.ts";
import { isPlainObject, createProblem } from "../value-checks.ts";
import type { EditEnvironment, NewAnswer, NewMessage } from "../edit.ts";
import { createChat } from "../create-chat.ts";
import { createAnswerNode, createUserNode } from "../create-node.ts";
import type { Chat, ChatNode, UserNode } from "../chat-types.ts";
import { checkJson, limitProblems } from "./file-checks.ts";
import type { FileBlob, ImportResult, ImportEnvironment } from "./import-types.ts";
import { missingResultText } from "./openai-export.ts";
import { PartReader } from "./openai-parts.ts";
import { runToEnd } from "./run-to-end.ts";

/**
 * Imports a list of Chat Completions messages, or `{ messages, title? }`, as one chat. System and developer messages become its
 * instructions, regardless of their position. Everything between two user messages is one answer, with its calls and their
 * results. If the list starts with an answer, an empty user message is added before it.
 */
export function chatsFromOpenAi(value: unknown, environment: ImportEnvironment): ImportResult {
  return runToEnd(chatsFromOpenAiSteps(value, environment));
}

/** Like `chatsFromOpenAi`, but yields after each message, because 100,000 messages take 400 ms. */
export function* chatsFromOpenAiSteps(
  value: unknown,
  environment: ImportEnvironment,
): Generator<void, ImportResult> {
  const { messages, title, otherFields, path } = parseMessageList(value);
  if (!Array.isArray(messages) || messages.length === 0)
    return {
      ok: false,
      problems: createProblem(path, "must be an array with at least one message"),
    };
  if (hasTooManyMessages(messages))
    return {
      ok: false,
      problems: createTooManyMessagesProblem(messages.length, path || "chats[0]"),
    };
  const problems = checkJson(otherFields, "");
  if (title !== undefined) problems.push(...checkTitle(title));
  const reader = new MessageReader(environment, problems);
  for (const [index, message] of messages.entries()) {
    const messagePath = `${path}[${index}]`;
    const messageProblems = checkJson(message, messagePath);
    if (messageProblems.length === 0) reader.read(message, messagePath);
    else problems.push(...messageProblems);
    yield;
  }
  if (problems.length > 0) return { ok: false, problems: limitProblems(problems) };
  const chat = reader.buildChat(typeof title === "string" ? { title } : {});
  return {
    ok: true,
    chats: [{ chat, replays: reader.replays, variables: [] }],
    blobs: reader.blobs,
  };
}

/** True if the chat would exceed its limit regardless of the content. Tool results do not count as messages of a chat. */
function hasTooManyMessages(messages: readonly unknown[]): boolean {
  if (messages.length > 10 * maxMessages) return true;
  let users = 0;
  for (const message of messages)
    if (isPlainObject(message) && message["role"] === "user") users += 1;
  return users > maxMessages;
}

interface MessageList {
  messages: unknown;
  title?: unknown;
  /** All other fields of the file. */
  otherFields: Record<string, unknown>;
  path: string;
}

function parseMessageList(value: unknown): MessageList {
  if (!isPlainObject(value)) return { messages: value, otherFields: {}, path: "" };
  const { messages, title, ...otherFields } = value;
  const titleField = title === undefined || title === null || title === "" ? {} : { title };
  return { messages, ...titleField, otherFields, path: "messages" };
}

interface OpenCall {
  /** The id in the imported message. */
  sourceId: string | undefined;
  call_id: string;
}

interface OpenAnswer {
  output: OutputItem[];
  replay: JsonValue[];
  calls: OpenCall[];
}

class MessageReader {
  readonly replays: Record<string, JsonValue[]> = {};
  /** Returns the same time for all nodes of the chat. */
  readonly #environment: EditEnvironment;
  readonly #parts: PartReader;
  readonly #problems: string[];
  readonly #instructions: string[] = [];
  readonly #nodes: ChatNode[] = [];
  readonly #callIds = new Set<string>();
  #openAnswer: OpenAnswer | undefined;

  /** Problems are appended to `problems`. */
  constructor(environment: ImportEnvironment, problems: string[]) {
    const now = environment.now();
    this.#environment = { newId: (prefix) => environment.newId(prefix), now: () => now };
    this.#problems = problems;
    this.#parts = new PartReader(environment, problems);
  }

  get blobs(): Record<string, FileBlob> {
    return this.#parts.blobs;
  }

  read(message: unknown, path: string): void {
    if (!isPlainObject(message)) return this.#addProblem(path, "must be an object");
    const { role, content } = message;
    const contentPath = `${path}.content`;
    switch (role) {
      case "system":
      case "developer": {
        const text = this.#parts.readText(content, contentPath);
        if (text !== "") this.#instructions.push(text);
        break;
      }
      case "user":
        this.#closeAnswer();
        this.#addUser(this.#parts.readPrompt(content, contentPath));
        break;
      case "assistant":
        this.#readAssistant(message, path);
        break;
      case "tool":
        this.#readResult(message["tool_call_id"], this.#parts.readText(content, contentPath), path);
        break;
      default:
        this.#addProblem(`${path}.role`, "must be system, developer, user, assistant or tool");
    }
  }

  buildChat(titleField: { title?: string }): Chat {
    this.#closeAnswer();
    const nodes = this.#nodes.map((node, index): ChatNode => {
      const next = this.#nodes[index + 1];
      return next === undefined ? node : { ...node, children: [next.node_id] };
    });
    const instructions = this.#instructions.join("\n\n");
    const settings = instructions === "" ? {} : { instructions };
    return {
      ...createChat({ ...titleField, settings }, this.#environment),
      nodes: Object.fromEntries(nodes.map((node) => [node.node_id, node])),
      roots: nodes.slice(0, 1).map(({ node_id }) => node_id),
      chosen: Object.fromEntries(nodes.map(({ node_id, parent }) => [parent ?? "", node_id])),
    };
  }

  #addUser(message: NewMessage): UserNode {
    const parent = this.#nodes.at(-1)?.node_id ?? null;
    const node = createUserNode(parent, message, this.#environment);
    this.#nodes.push(node);
    return node;
  }

  #readAssistant(message: Record<string, unknown>, path: string): void {
    const answer = (this.#openAnswer ??= { output: [], replay: [], calls: [] });
    this.#closeOpenCalls(answer);
    const { content, refusal, tool_calls: calls, reasoning_content, reasoning } = message;
    const reasoningText = reasoning_content ?? reasoning;
    if (typeof reasoningText === "string" && reasoningText !== "")
      answer.output.push({
        type: "reasoning",
        id: this.#environment.newId("rs"),
        status: "completed",
        summary: [{ type: "text", text: reasoningText }],
      });
    const text = this.#parts.readText(content ?? refusal, `${path}.content`);
    if (text !== "") {
      answer.output.push({
        type: "message",
        id: this.#environment.newId("msg"),
        role: "assistant",
        status: "completed",
        block_list: [{ type: "text", text }],
      });
      answer.replay.push({
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text }],
      });
    }
    if (calls === undefined || calls === null) return;
    if (!Array.isArray(calls)) return this.#addProblem(`${path}.tool_calls`, "must be an array");
    for (const [index, call] of calls.entries())
      this.#readCall(answer, call, `${path}.tool_calls[${index}]`);
  }

  #readCall(answer: OpenAnswer, call: unknown, path: string): void {
    const { id, function: calledFunction } = isPlainObject(call) ? call : {};
    const { name, arguments: args } = isPlainObject(calledFunction) ? calledFunction : {};
    if (typeof name !== "string" || name === "")
      return this.#addProblem(`${path}.function.name`, "must be a string");
    if (id !== undefined && id !== null && typeof id !== "string")
      return this.#addProblem(`${path}.id`, "must be a string");
    const sourceId = id === null || id === "" ? undefined : id;
    // Some servers reuse the same call ids in every reply.
    const isNew = sourceId !== undefined && !this.#callIds.has(sourceId);
    const call_id = isNew ? sourceId : this.#environment.newId("call");
    if (
      answer.calls.some(
        (openCall) => openCall.sourceId !== undefined && openCall.sourceId === sourceId,
      )
    )
      return this.#addProblem(
        `${path}.id`,
        "is a duplicate; another call in this message has the same id",
      );
    const argumentsText = typeof args === "string" ? args : JSON.stringify(args ?? {});
    this.#callIds.add(call_id);
    answer.calls.push({ sourceId, call_id });
    answer.output.push({
      type: "tool_call",
      id: this.#environment.newId("fc"),
      call_id,
      name,
      arguments: argumentsText,
      status: "completed",
    });
    answer.replay.push({
      type: "function_call",
      call_id,
      name,
      arguments: argumentsText === "" ? "{}" : argumentsText,
    });
  }

  /** Adds the result of a tool message to its call. A result without an id belongs to the first call without one. */
  #readResult(id: unknown, text: string, path: string): void {
    const sourceId = id === null || id === "" ? undefined : id;
    const answer = this.#openAnswer;
    const openCall = answer?.calls.find((call) => call.sourceId === sourceId);
    if (answer === undefined || openCall === undefined)
      return this.#addProblem(
        `${path}.tool_call_id`,
        "must be the id of an earlier tool call that has no result yet",
      );
    this.#addResult(answer, openCall, text, "completed");
  }

  #addResult(
    answer: OpenAnswer,
    call: OpenCall,
    text: string,
    status: "completed" | "incomplete",
  ): void {
    answer.calls = answer.calls.filter((other) => other !== call);
    answer.output.push({
      type: "tool_result",
      id: this.#environment.newId("fco"),
      call_id: call.call_id,
      status,
      ...(status === "incomplete" ? { outcome: "incomplete" } : {}),
      block_list: text === "" ? [] : [{ type: "text", text }],
    });
    answer.replay.push({ type: "function_call_output", call_id: call.call_id, output: text });
  }

  /** Adds a result to every call that has none, for example at the end of the list. */
  #closeOpenCalls(answer: OpenAnswer): void {
    for (const call of answer.calls) this.#addResult(answer, call, missingResultText, "incomplete");
  }

  #closeAnswer(): void {
    const answer = this.#openAnswer;
    if (answer === undefined) return;
    this.#openAnswer = undefined;
    this.#closeOpenCalls(answer);
    const last = this.#nodes.at(-1);
    const message = last?.kind === "user" ? last : this.#addUser({ text: "" });
    const newAnswer: NewAnswer = {
      by: "user",
      status: "completed",
      model_type: "chat",
      output: answer.output,
      references: [],
      notices: [],
    };
    const node = createAnswerNode(message.node_id, newAnswer, this.#environment);
    this.#nodes.push(node);
    this.replays[node.version] = answer.replay;
  }

  #addProblem(path: string, problem: string): void {
    this.#problems.push(...createProblem(path, problem));
  }
}
