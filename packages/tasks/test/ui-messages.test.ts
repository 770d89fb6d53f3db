import {
  AbstractChat,
  DefaultChatTransport,
  readUIMessageStream,
  uiMessageChunkSchema,
  validateUIMessages,
  type ChatState,
  type ChatStatus,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import {
  approvalsAreAnswered,
  argumentsHash,
  coalesce,
  encodeTaskEvent,
  taskView,
  uiInput,
  UiMessageStream,
  type ExpandedArguments,
  type OutputItem,
  type TaskEvent,
  type UiChunk,
} from "@deltawire/tasks";
import { runs } from "../../../test/runs.ts";
import { randomRun } from "./random-run.ts";
import { recorder, scriptedTask, usage } from "./scripted-task.ts";

describe("a call that names variables", () => {
  const shownWith = async (expanded_arguments: ExpandedArguments) => {
    const events = structuredClone(scriptedTask().events).map((event): TaskEvent => {
      if (event.type !== "task.approval.requested" || event.approval.approval_id !== "ap_w")
        return event;
      const { question: _question, ...approval } = event.approval;
      return { ...event, approval: { ...approval, expanded_arguments } };
    });
    const { message } = await read(chunksOf(events));
    return message?.parts.find((part) => part.type === "dynamic-tool");
  };

  test("is shown as it would run", async () => {
    const part = await shownWith({ text: '{"location":"the content"}' });
    expect(part).toMatchObject({ toolCallId: "call_w", input: { location: "the content" } });
  });

  test("is asked about with the address of its content where that is long", async () => {
    const part = await shownWith({ head: "{", tail: "}", length: 30_000, url: "/api/blobs/1" });
    const requestReason = expect.stringContaining("30000 characters. Read it at /api/blobs/1");
    expect(part).toMatchObject({ toolCallId: "call_w", approval: { requestReason } });
  });
});

describe("a tool that streams its result", () => {
  const streamed = (deltas: readonly string[]) => {
    const { events, root } = recorder();
    root.working();
    root.roundStarted(1, "m");
    const call = root.toolCall("call_1", "work");
    call.done("{}");
    root.roundDone(1, "tool_calls", usage);
    const result = root.toolResult("call_1");
    root.executionStarted({
      call_id: "call_1",
      execution_id: "exec_1",
      attempt: 1,
      args_hash: argumentsHash("{}"),
      effect: "pure",
      idempotency_key: "key_1",
    });
    for (const delta of deltas) result.textDelta(delta);
    root.executionDone("call_1", "exec_1", "completed", 1);
    result.done();
    root.update(call.itemId, { status: "completed", outcome: "completed" });
    return events;
  };
  const outputs = (chunks: readonly UiChunk[]) =>
    chunks.filter((chunk) => chunk.type === "tool-output-available");

  test("shows it as a preliminary output that grows, and then as the output", async () => {
    const chunks = chunksOf(streamed(["x".repeat(30), "y".repeat(30)]));
    expect(outputs(chunks)).toMatchObject([
      { preliminary: true, output: [{ type: "text", text: "x".repeat(30) }] },
      { preliminary: true, output: [{ type: "text", text: "x".repeat(30) + "y".repeat(30) }] },
      { output: [{ type: "text", text: "x".repeat(30) + "y".repeat(30) }] },
    ]);
    expect(outputs(chunks).at(-1)).not.toHaveProperty("preliminary");
    const { message, errors } = await read(chunks);
    expect(errors).toEqual([]);
    expect(message?.parts.find((part) => part.type === "dynamic-tool")).toMatchObject({
      state: "output-available",
      output: [{ type: "text", text: "x".repeat(30) + "y".repeat(30) }],
    });
  });

  test("sends little more than its output, however many pieces it has", () => {
    const deltas = Array.from({ length: 20_000 }, () => "word ");
    const sent = JSON.stringify(outputs(chunksOf(streamed(deltas)))).length;
    expect(sent).toBeLessThan(8 * 5 * 20_000);
  });
});

describe("a task as a UI message", () => {
  test("a whole task becomes one message with the right parts", async () => {
    const { message, errors } = await read(chunksOf(scriptedTask().events));
    expect(errors).toEqual([]);
    expect(message).toMatchObject({
      id: "task_1",
      role: "assistant",
      metadata: { task_id: "task_1", status: "completed", usage, sequence_number: 97 },
    });
    expect(message?.parts).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Thinking about the weather.", state: "done" },
      { type: "reasoning", text: "Asking.", state: "done" },
      {
        type: "dynamic-tool",
        toolName: "get_weather",
        toolCallId: "call_w",
        state: "output-available",
        providerExecuted: true,
        input: { location: "Paris" },
        output: [
          { type: "text", text: "15C", id: 1 },
          { type: "image", image_url: { url: "data:image/png;base64,AA==" }, id: 1 },
        ],
        approval: { id: "ap_w", approved: true, requestReason: "Run call_w?" },
      },
      {
        type: "dynamic-tool",
        toolName: "ask_for_help",
        state: "output-available",
        output: [{ type: "text", text: "Go north." }],
      },
      { type: "source-url", sourceId: "task_1:1", url: "https://weather.example/" },
      { type: "data-subtask", id: "call_h", data: { agent: "Maps", status: "completed" } },
      { type: "data-subtask-item", id: "call_h:0", data: { item: { call_id: "call_c" } } },
      {
        type: "dynamic-tool",
        toolName: "route",
        toolMetadata: { task_id: "call_h" },
        state: "output-available",
        approval: { id: "ap_c", approved: true },
      },
      { type: "data-subtask-item", id: "call_h:1", data: { item: { type: "tool_result" } } },
      { type: "data-subtask-item", id: "call_h:2", data: { item: { type: "message" } } },
      { type: "step-start" },
      { type: "steering-message", id: "in_1", parts: [{ type: "text", text: "In German!" }] },
      { type: "reasoning", text: "Now the answer." },
      {
        type: "text",
        text: "Sonnig [^1], nicht [^7].",
        state: "done",
        citations: [{ source: { url: "https://weather.example/" }, startIndex: 7, endIndex: 11 }],
      },
      { type: "file", url: "/api/blobs/1", mediaType: "image" },
      { type: "data-block", data: { type: "data", data: { degrees: 15 } } },
    ]);
    await expect(validateUIMessages({ messages: [message] })).resolves.toHaveLength(1);
  });

  test("every chunk is one that the SDK's transports let through", async () => {
    const schema = uiMessageChunkSchema();
    for (const chunk of chunksOf(scriptedTask().events))
      expect(await schema.validate?.(JSON.parse(JSON.stringify(chunk)))).toMatchObject({
        success: true,
      });
  });

  test("what is taken back leaves the message at once, and what stood beside it stays", async () => {
    const { snapshots } = await read(chunksOf(scriptedTask().events));
    const texts = snapshots.map(({ parts }) =>
      parts.flatMap((part) => (part.type === "text" ? [part] : [])),
    );
    const half = texts.filter((list) => list.some(({ text }) => text.startsWith("It is")));
    expect(half.length).toBeGreaterThan(0);
    expect(half.flat().every(({ state }) => state === "streaming")).toBe(true);
    const after = snapshots.at(-1)?.parts.filter(({ type }) => type === "reasoning");
    expect(after).toHaveLength(3);
  });

  test("coalesced events make the same message", async () => {
    const { events } = scriptedTask();
    const whole = await read(chunksOf(events));
    expect((await read(chunksOf(coalesce(events)))).message).toEqual(whole.message);
  });

  test("an event that comes twice is told once", () => {
    const { events } = scriptedTask();
    expect(chunksOf(events.flatMap((event) => [event, event]))).toEqual(chunksOf(events));
  });

  test("an event that a connection tells without a number is no part of it", () => {
    const { events } = scriptedTask();
    const report = {
      type: "task.round.progress",
      task_id: "call_h",
      round: 0,
      message: "",
    } as const;
    const [stream, out] = [new UiMessageStream(), [] as UiChunk[]];
    for (const event of events) {
      stream.push(report, out);
      stream.push(event, out);
    }
    expect(out).toEqual(chunksOf(events));
  });

  test("a refused result is forgotten, also in the message", async () => {
    const { events, root } = recorder();
    root.roundStarted(1, "m");
    const call = root.toolCall("call_1", "read_mail");
    call.done("{}");
    root.roundDone(1, "tool_calls", usage);
    root.approvalRequested({
      approval_id: "ap_1",
      kind: "result",
      call_id: "call_1",
      choices: ["approve", "deny", "redact", "abort"],
      block_list: [{ type: "text", text: "very private" }],
    });
    root.inputRequired("approval", ["ap_1"]);
    const asked = await read(chunksOf(events));
    expect(JSON.stringify(asked.message)).toContain("very private");
    root.approvalResolved("ap_1", { decision: "deny", by: "me", scope: "once", reason: "no" });
    root.working();
    const result = root.toolResult("call_1");
    result.block({ type: "text", text: "not shown" });
    result.done({ status: "denied", outcome: "denied" });
    const { message } = await read(chunksOf(events));
    expect(JSON.stringify(message)).not.toContain("very private");
    expect(message?.parts.at(-1)).toMatchObject({
      type: "dynamic-tool",
      state: "output-denied",
      approval: { id: "ap_1", approved: false, reason: "no" },
    });
  });

  test("a question that belongs to no call is a data part until it is answered", async () => {
    const { events, root } = recorder();
    root.approvalRequested({
      approval_id: "ap_1",
      kind: "limit",
      choices: ["approve", "deny"],
      question: "Ten rounds are over. Go on?",
    });
    root.inputRequired("limit", ["ap_1"]);
    const asked = await read(chunksOf(events));
    expect(asked.message?.parts).toMatchObject([
      { type: "data-approval", id: "ap_1", data: { status: "pending" } },
    ]);
    root.approvalResolved("ap_1", { decision: "approve", by: "me", scope: "once" });
    expect((await read(chunksOf(events))).message?.parts).toMatchObject([
      { type: "data-approval", id: "ap_1", data: { status: "resolved" } },
    ]);
  });

  test("a call whose arguments were cut, and one that failed, are errors", async () => {
    const { events, root } = recorder();
    root.roundStarted(1, "m");
    const half = root.toolCall("call_1", "write");
    half.argumentsDelta('{"te');
    half.done('{"te', { status: "incomplete" });
    const other = root.toolCall("call_2", "write");
    other.done("");
    root.roundDone(1, "length", usage);
    for (const [id, outcome, text] of [
      ["call_1", "incomplete", "It was not run."],
      ["call_2", "failed", "No such file."],
    ] as const) {
      const result = root.toolResult(id);
      result.block({ type: "text", text });
      result.done({ status: outcome, outcome });
    }
    const { message } = await read(chunksOf(events));
    expect(message?.parts.slice(1)).toMatchObject([
      { state: "output-error", input: '{"te', errorText: "It was not run." },
      { state: "output-error", input: {}, errorText: "No such file." },
    ]);
  });
});

describe("how it ends", () => {
  test("a failure reaches the client as an error, with what was there before it", async () => {
    const { events, root } = recorder();
    root.roundStarted(1, "m");
    const message = root.message();
    message.text("So far.");
    message.done();
    root.roundDone(1, "stop", usage);
    root.failed({ code: "upstream", message: "the model is gone", retryable: true }, usage);
    const chunks = chunksOf(events);
    expect(chunks.slice(-3)).toMatchObject([
      { type: "error", errorText: "the model is gone" },
      { type: "finish-step" },
      { type: "finish", finishReason: "error" },
    ]);
    const { message: kept, errors } = await read(chunks);
    expect(errors).toEqual([new Error("the model is gone")]);
    expect(kept?.metadata).toMatchObject({ error: { code: "upstream" } });
  });

  test("a cancelled task is aborted", () => {
    const { events, root } = recorder();
    root.canceled("me", "enough", usage);
    expect(chunksOf(events).slice(1)).toMatchObject([
      { type: "abort", reason: "enough" },
      { type: "finish", finishReason: "other", messageMetadata: { status: "canceled" } },
    ]);
  });

  test("the end of the connection is an interruption, not the end of the task", () => {
    const { events } = scriptedTask();
    const stream = new UiMessageStream();
    const out: UiChunk[] = [];
    for (const event of events.slice(0, 8)) stream.push(event, out);
    stream.end(out);
    expect(out.at(-1)).toMatchObject({ type: "finish", finishReason: "interrupted" });
    const before = out.length;
    stream.push(events[8] as TaskEvent, out);
    stream.end(out);
    expect(out).toHaveLength(before);
  });
});

describe("a client that comes back", () => {
  test("goes on with its message from any event, and ends with the same", async () => {
    const { events } = scriptedTask();
    const whole = await read(chunksOf(events));
    for (let cut = 1; cut < events.length; cut += 1) {
      const before = await read(chunksOf(events.slice(0, cut)));
      const rest = await read(chunksOf(events, cut - 1), before.message);
      expect(rest.errors).toEqual([]);
      expect(rest.message).toEqual(whole.message);
    }
  });

  test("is told nothing again if no text was cut", () => {
    const { events, asks } = scriptedTask();
    for (const ask of asks)
      expect(chunksOf(events, ask).filter(({ type }) => type === "reset-step")).toHaveLength(1);
  });

  test("goes on at any event of any task", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, fc.nat(), async ({ events }, place) => {
        const cut = 1 + (place % events.length);
        const before = await read(chunksOf(events.slice(0, cut)));
        const rest = await read(chunksOf(events, cut - 1), before.message);
        const whole = await read(chunksOf(events));
        expect(rest.message?.parts).toEqual(whole.message?.parts);
      }),
      runs(60),
    );
  });
});

describe("any task", () => {
  test("the texts and calls of the message are those of the task, and all are finished", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async ({ events, state }) => {
        const { message, errors } = await read(chunksOf(events));
        const view = taskView(state);
        const fails = view.status === "failed" || view.status === "expired";
        expect(errors).toHaveLength(fails ? 1 : 0);
        const parts = message?.parts ?? [];
        expect(parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual(
          view.output.flatMap(textsOf),
        );
        const answered = parts.flatMap((part) =>
          part.type === "dynamic-tool" && part.state.startsWith("output-") ? [part.toolCallId] : [],
        );
        const calls = view.output.flatMap((item) =>
          item.type === "tool_call" ? [item.call_id] : [],
        );
        expect(answered).toEqual(expect.arrayContaining(calls));
        const growing = parts.filter(
          (part) => (part.type === "text" || part.type === "reasoning") && part.state !== "done",
        );
        expect(growing).toEqual([]);
      }),
      runs(150),
    );
  });

  test("every chunk is one that the SDK knows", async () => {
    const schema = uiMessageChunkSchema();
    await fc.assert(
      fc.asyncProperty(randomRun, async ({ events }) => {
        for (const chunk of chunksOf(events))
          expect(await schema.validate?.(JSON.parse(JSON.stringify(chunk)))).toMatchObject({
            success: true,
          });
      }),
      runs(30),
    );
  });
});

describe("useChat", () => {
  test("a chat sends a message, answers two approvals, and has the whole task in one message", async () => {
    const { events, asks } = scriptedTask();
    const server = new ChatServer(events, asks);
    const chat = new TestChat(server.fetch);
    await chat.sendMessage({ text: "Weather?" });
    expect(chat.status).toBe("ready");
    expect(pending(chat)).toEqual(["ap_w"]);
    await chat.answer("ap_w", true);
    expect(pending(chat)).toEqual(["ap_c"]);
    await chat.answer("ap_c", true, "fine");

    expect(server.inputs.map(({ input, approvals }) => ({ input, approvals }))).toEqual([
      { input: [{ type: "text", text: "Weather?" }], approvals: [] },
      { input: [], approvals: [{ approval_id: "ap_w", approved: true }] },
      { input: [], approvals: [{ approval_id: "ap_c", approved: true, reason: "fine" }] },
    ]);
    const whole = await read(chunksOf(events));
    expect(chat.messages).toHaveLength(2);
    expect(withoutReason(chat.messages[1])).toEqual(withoutReason(whole.message));
  });

  test("a chat that is opened anew has the task replayed into the message that it knew", async () => {
    const { events, asks } = scriptedTask();
    const server = new ChatServer(events, asks);
    const chat = new TestChat(server.fetch);
    await chat.sendMessage({ text: "Weather?" });
    server.at = events.length;
    await chat.resumeStream();
    expect(chat.messages).toHaveLength(2);
    expect(chat.messages[1]).toEqual((await read(chunksOf(events))).message);
  });

  test("the next question brings the history, without the numbers of the last task", async () => {
    const { events } = scriptedTask();
    const { message } = await read(chunksOf(events));
    const { input, history, approvals, continues, chat_id } = uiInput({
      id: "chat_1",
      trigger: "submit-message",
      messages: JSON.parse(
        JSON.stringify([
          { id: "u1", role: "user", parts: [{ type: "text", text: "Weather?" }] },
          message,
          {
            id: "u2",
            role: "user",
            parts: [
              { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
              { type: "file", mediaType: "application/pdf", url: "/f", filename: "f.pdf" },
              { type: "text", text: "And this?" },
            ],
          },
        ]),
      ),
    });
    expect({ approvals, continues, chat_id }).toEqual({
      approvals: [],
      continues: undefined,
      chat_id: "chat_1",
    });
    expect(input).toEqual([
      { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      {
        type: "file_url",
        file_url: { url: "/f" },
        media_type: "application/pdf",
        filename: "f.pdf",
      },
      { type: "text", text: "And this?" },
    ]);
    expect(history).toEqual([
      { role: "user", parts: [{ type: "text", text: "Weather?" }] },
      {
        role: "assistant",
        parts: [
          {
            type: "tool_call",
            call_id: "call_w",
            name: "get_weather",
            arguments: '{"location":"Paris"}',
          },
          {
            type: "tool_result",
            call_id: "call_w",
            content: [
              { type: "text", text: "15C" },
              { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
            ],
          },
          {
            type: "tool_call",
            call_id: "call_h",
            name: "ask_for_help",
            arguments: '{"name":"Maps"}',
          },
          {
            type: "tool_result",
            call_id: "call_h",
            content: [{ type: "text", text: "Go north." }],
          },
        ],
      },
      { role: "user", parts: [{ type: "text", text: "In German!" }] },
      {
        role: "assistant",
        parts: [
          { type: "text", text: "Sonnig, nicht." },
          { type: "image_url", image_url: { url: "/api/blobs/1" } },
        ],
      },
    ]);
  });

  test.each([
    [null, "the body must be an object"],
    [{ messages: [] }, "messages must be a list with at least one message"],
    [{ messages: [{ role: "tool", parts: [] }] }, "messages[0].role must be user, assistant"],
    [{ messages: [{ role: "user" }] }, "messages[0].parts must be a list"],
    [{ messages: [{ role: "user", parts: [] }] }, "messages[0].parts has neither text nor a file"],
    [
      { messages: [{ role: "user", parts: [{ type: "text" }] }] },
      "messages[0].parts[0].text must be a string",
    ],
    [{ messages: [{ role: "assistant", parts: [] }] }, "the last message must be the user's"],
  ])("%j is refused: %s", (body, message) => {
    expect(() => uiInput(body)).toThrow(message);
  });

  test("10,000 parts are read, and more are refused", () => {
    const messages = (count: number) => [
      { role: "user", parts: Array.from({ length: count }, () => ({ type: "text", text: "x" })) },
    ];
    expect(uiInput({ messages: messages(10_000) }).input).toHaveLength(10_000);
    expect(() => uiInput({ messages: messages(10_001) })).toThrow("more than 10000 parts");
  });
});

/** What `after` leaves to be told, or everything. */
function chunksOf(events: readonly TaskEvent[], after?: number): UiChunk[] {
  const stream = new UiMessageStream(after === undefined ? {} : { after });
  const out: UiChunk[] = [];
  for (const event of events) stream.push(event, out);
  return out;
}

/** By the SDK's own reader, from chunks that were JSON meanwhile. */
async function read(chunks: readonly UiChunk[], message?: UIMessage) {
  const errors: unknown[] = [];
  const snapshots: UIMessage[] = [];
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(overTheWire(chunk));
      controller.close();
    },
  });
  const options = message === undefined ? {} : { message: structuredClone(message) };
  for await (const snapshot of readUIMessageStream({
    ...options,
    stream,
    onError: (error) => errors.push(error),
  }))
    snapshots.push(snapshot);
  return { message: snapshots.at(-1) ?? message, snapshots, errors };
}

function overTheWire(chunk: UIMessageChunk): UIMessageChunk {
  return JSON.parse(JSON.stringify(chunk)) as UIMessageChunk;
}

function textsOf(item: OutputItem): string[] {
  if (item.type !== "message") return [];
  return item.block_list.flatMap((block) => (block.type === "text" ? [block.text] : []));
}

/** Plays a task up to the next question, for as many requests as it takes. */
class ChatServer {
  readonly inputs: ReturnType<typeof uiInput>[] = [];
  at = 0;
  readonly #events: readonly TaskEvent[];
  readonly #asks: readonly number[];

  constructor(events: readonly TaskEvent[], asks: readonly number[]) {
    this.#events = events;
    this.#asks = asks;
  }

  readonly fetch = (_url: unknown, request?: RequestInit): Promise<Response> => {
    let after = -1;
    if (request?.method === "POST") {
      const input = uiInput(JSON.parse(request.body as string));
      this.inputs.push(input);
      after = input.continues?.after ?? -1;
      this.at = (this.#asks.find((ask) => ask >= this.at) ?? this.#events.length - 1) + 1;
    }
    const stream = new UiMessageStream({ after });
    const out: UiChunk[] = [];
    for (const event of this.#events.slice(0, this.at)) stream.push(event, out);
    if (stream.waiting) stream.end(out);
    const frames = out.map((chunk) => encodeTaskEvent(JSON.stringify(chunk), undefined));
    return Promise.resolve(new Response(`${frames.join("")}data: [DONE]\n\n`));
  };
}

class TestState implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, structuredClone(message)];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

/** What `useChat` is in every framework, without the framework. */
class TestChat extends AbstractChat<UIMessage> {
  constructor(fetch: ChatServer["fetch"]) {
    super({
      id: "chat_1",
      state: new TestState(),
      transport: new DefaultChatTransport({ fetch, api: "http://localhost/chat" }),
      sendAutomaticallyWhen: approvalsAreAnswered,
    });
  }

  /** Resolves when the chat has sent the answer and read what came of it. */
  async answer(id: string, approved: boolean, reason?: string): Promise<void> {
    await this.addToolApprovalResponse({
      id,
      approved,
      ...(reason === undefined ? {} : { reason }),
    });
    await vi.waitUntil(() => this.status === "ready" && hasOutput(this, id), { interval: 5 });
  }
}

function toolParts(chat: TestChat) {
  return (chat.messages.at(-1)?.parts ?? []).flatMap((part) =>
    part.type === "dynamic-tool" ? [part] : [],
  );
}

function pending(chat: TestChat): string[] {
  return toolParts(chat).flatMap((part) =>
    part.state === "approval-requested" ? [part.approval.id] : [],
  );
}

function hasOutput(chat: TestChat, id: string): boolean {
  return toolParts(chat).some(
    (part) => part.approval?.id === id && part.state === "output-available",
  );
}

/** The reason that a person gave in the chat is not in the log of the scripted task. */
function withoutReason(message: UIMessage | undefined): unknown {
  return JSON.parse(JSON.stringify(message).replaceAll(',"reason":"fine"', ""));
}
