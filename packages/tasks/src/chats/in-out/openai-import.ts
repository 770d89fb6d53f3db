import type { JsonValue } from "../../json.ts";
import type { OutputItem } from "../../items.ts";
import { maxMessages, tooManyMessages } from "../chat-limits.ts";
import { checkTitle } from "../chat-schemas.ts";
import { isPlainObject, problem } from "../check-value.ts";
import type { EditWorld, NewAnswer, NewMessage } from "../edit.ts";
import { newChat } from "../new-chat.ts";
import { newAnswerNode, newUserNode } from "../new-node.ts";
import type { Chat, ChatNode, UserNode } from "../shapes.ts";
import { checkJson, first } from "./check-json.ts";
import type { FileBlob, Imported, ImportWorld } from "./imported.ts";
import { noResult } from "./openai-messages.ts";
import { PartReader } from "./openai-parts.ts";
import { runToEnd } from "./run-to-end.ts";

/**
 * A list of Chat Completions messages, or `{ messages, title? }`, as one chat. What systems and developers say becomes its
 * instructions, wherever it stands. All that is said between two messages of a user is one answer, with its calls and their
 * results. Each answer needs a message before it: where the list begins with an answer, that is an empty one.
 */
export function chatsFromOpenAi(value: unknown, world: ImportWorld): Imported {
  return runToEnd(chatsFromOpenAiSteps(value, world));
}

/** The same in steps, one for each message: 100,000 of them took 400 ms at once. */
export function* chatsFromOpenAiSteps(
  value: unknown,
  world: ImportWorld,
): Generator<void, Imported> {
  const { messages, title, others, path } = messageList(value);
  if (!Array.isArray(messages) || messages.length === 0)
    return { ok: false, problems: problem(path, "must be a list with at least one message") };
  if (hasTooMany(messages))
    return { ok: false, problems: tooManyMessages(messages.length, path || "chats[0]") };
  const problems = checkJson(others, "");
  if (title !== undefined) problems.push(...checkTitle(title));
  const reader = new MessageReader(world, problems);
  for (const [index, message] of messages.entries()) {
    const place = `${path}[${index}]`;
    const faults = checkJson(message, place);
    if (faults.length === 0) reader.read(message, place);
    else problems.push(...faults);
    yield;
  }
  if (problems.length > 0) return { ok: false, problems: first(problems) };
  const chat = reader.chat(typeof title === "string" ? { title } : {});
  return {
    ok: true,
    chats: [{ chat, replays: reader.replays, variables: [] }],
    blobs: reader.blobs,
  };
}

/** True if the chat would exceed its limit whatever the messages say. Results of tools are no messages of a chat. */
function hasTooMany(messages: readonly unknown[]): boolean {
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
  others: Record<string, unknown>;
  path: string;
}

function messageList(value: unknown): MessageList {
  if (!isPlainObject(value)) return { messages: value, others: {}, path: "" };
  const { messages, title, ...others } = value;
  const named = title === undefined || title === null || title === "" ? {} : { title };
  return { messages, ...named, others, path: "messages" };
}

interface OpenCall {
  /** As the log has it. */
  told: string | undefined;
  call_id: string;
}

interface OpenAnswer {
  output: OutputItem[];
  replay: JsonValue[];
  calls: OpenCall[];
}

class MessageReader {
  readonly replays: Record<string, JsonValue[]> = {};
  /** In which no time passes. */
  readonly #world: EditWorld;
  readonly #parts: PartReader;
  readonly #problems: string[];
  readonly #instructions: string[] = [];
  readonly #nodes: ChatNode[] = [];
  readonly #callIds = new Set<string>();
  #answer: OpenAnswer | undefined;

  /** Adds what is wrong to `problems`. */
  constructor(world: ImportWorld, problems: string[]) {
    const now = world.now();
    this.#world = { newId: (prefix) => world.newId(prefix), now: () => now };
    this.#problems = problems;
    this.#parts = new PartReader(world, problems);
  }

  get blobs(): Record<string, FileBlob> {
    return this.#parts.blobs;
  }

  read(message: unknown, path: string): void {
    if (!isPlainObject(message)) return this.#wrong(path, "must be an object");
    const { role, content } = message;
    const at = `${path}.content`;
    switch (role) {
      case "system":
      case "developer": {
        const text = this.#parts.text(content, at);
        if (text !== "") this.#instructions.push(text);
        break;
      }
      case "user":
        this.#closeAnswer();
        this.#user(this.#parts.words(content, at));
        break;
      case "assistant":
        this.#assistant(message, path);
        break;
      case "tool":
        this.#result(message["tool_call_id"], this.#parts.text(content, at), path);
        break;
      default:
        this.#wrong(`${path}.role`, "must be system, developer, user, assistant or tool");
    }
  }

  chat(named: { title?: string }): Chat {
    this.#closeAnswer();
    const nodes = this.#nodes.map((node, index): ChatNode => {
      const next = this.#nodes[index + 1];
      return next === undefined ? node : { ...node, children: [next.node_id] };
    });
    const instructions = this.#instructions.join("\n\n");
    const settings = instructions === "" ? {} : { instructions };
    return {
      ...newChat({ ...named, settings }, this.#world),
      nodes: Object.fromEntries(nodes.map((node) => [node.node_id, node])),
      roots: nodes.slice(0, 1).map(({ node_id }) => node_id),
      chosen: Object.fromEntries(nodes.map(({ node_id, parent }) => [parent ?? "", node_id])),
    };
  }

  #user(message: NewMessage): UserNode {
    const parent = this.#nodes.at(-1)?.node_id ?? null;
    const node = newUserNode(parent, message, this.#world);
    this.#nodes.push(node);
    return node;
  }

  #assistant(message: Record<string, unknown>, path: string): void {
    const answer = (this.#answer ??= { output: [], replay: [], calls: [] });
    this.#giveUp(answer);
    const { content, refusal, tool_calls: calls, reasoning_content, reasoning } = message;
    const thought = reasoning_content ?? reasoning;
    if (typeof thought === "string" && thought !== "")
      answer.output.push({
        type: "reasoning",
        id: this.#world.newId("rs"),
        status: "completed",
        summary: [{ type: "text", text: thought }],
      });
    const text = this.#parts.text(content ?? refusal, `${path}.content`);
    if (text !== "") {
      answer.output.push({
        type: "message",
        id: this.#world.newId("msg"),
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
    if (!Array.isArray(calls)) return this.#wrong(`${path}.tool_calls`, "must be a list");
    for (const [index, call] of calls.entries())
      this.#call(answer, call, `${path}.tool_calls[${index}]`);
  }

  #call(answer: OpenAnswer, call: unknown, path: string): void {
    const { id, function: called } = isPlainObject(call) ? call : {};
    const { name, arguments: args } = isPlainObject(called) ? called : {};
    if (typeof name !== "string" || name === "")
      return this.#wrong(`${path}.function.name`, "must be a string");
    if (id !== undefined && id !== null && typeof id !== "string")
      return this.#wrong(`${path}.id`, "must be a string");
    const told = id === null || id === "" ? undefined : id;
    // Some servers number their calls, from the start in every reply.
    const isNew = told !== undefined && !this.#callIds.has(told);
    const call_id = isNew ? told : this.#world.newId("call");
    if (answer.calls.some((open) => open.told !== undefined && open.told === told))
      return this.#wrong(`${path}.id`, "is that of another call of the same message");
    const given = typeof args === "string" ? args : JSON.stringify(args ?? {});
    this.#callIds.add(call_id);
    answer.calls.push({ told, call_id });
    answer.output.push({
      type: "tool_call",
      id: this.#world.newId("fc"),
      call_id,
      name,
      arguments: given,
      status: "completed",
    });
    answer.replay.push({
      type: "function_call",
      call_id,
      name,
      arguments: given === "" ? "{}" : given,
    });
  }

  /** Without an id it answers the first call that has none either. */
  #result(id: unknown, text: string, path: string): void {
    const told = id === null || id === "" ? undefined : id;
    const answer = this.#answer;
    const open = answer?.calls.find((call) => call.told === told);
    if (answer === undefined || open === undefined) {
      const missing = "there is no open call that this is the result of";
      return this.#wrong(`${path}.tool_call_id`, missing);
    }
    this.#addResult(answer, open, text, "completed");
  }

  #addResult(
    answer: OpenAnswer,
    call: OpenCall,
    text: string,
    status: "completed" | "incomplete",
  ): void {
    answer.calls = answer.calls.filter((one) => one !== call);
    answer.output.push({
      type: "tool_result",
      id: this.#world.newId("fco"),
      call_id: call.call_id,
      status,
      ...(status === "incomplete" ? { outcome: "incomplete" } : {}),
      block_list: text === "" ? [] : [{ type: "text", text }],
    });
    answer.replay.push({ type: "function_call_output", call_id: call.call_id, output: text });
  }

  /** Every call has one result, also one that a log ends with. */
  #giveUp(answer: OpenAnswer): void {
    for (const call of answer.calls) this.#addResult(answer, call, noResult, "incomplete");
  }

  #closeAnswer(): void {
    const answer = this.#answer;
    if (answer === undefined) return;
    this.#answer = undefined;
    this.#giveUp(answer);
    const last = this.#nodes.at(-1);
    const message = last?.kind === "user" ? last : this.#user({ text: "" });
    const given: NewAnswer = {
      by: "user",
      status: "completed",
      model_type: "chat",
      output: answer.output,
      references: [],
      notices: [],
    };
    const node = newAnswerNode(message.node_id, given, this.#world);
    this.#nodes.push(node);
    this.replays[node.version] = answer.replay;
  }

  #wrong(path: string, what: string): void {
    this.#problems.push(...problem(path, what));
  }
}
