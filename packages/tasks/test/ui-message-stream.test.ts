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
  areApprovalsAnswered,
  hashArguments,
  coalesce,
  encodeTaskEvent,
  buildTaskView,
  parseUiInput,
  UiMessageStream,
  type ExpandedArguments,
  type OutputItem,
  type TaskEvent,
  type UiChunk,
} from "@deltawire/tasks";
import { propertyRuns } from "../../../test/property-runs.ts";
import { randomRun } from "./random-run.ts";
import { createRecordingWriter, createScriptedTask, usage } from "./scripted-task.ts";

describe("a call with variables", () => {
  const readExpandedCall = async (expanded_arguments: ExpandedArguments) => {
    const events = structuredClone(createScriptedTask().events).map((event): TaskEvent => {
      if (event.type !== "task.approval.requested" || event.approval.approval_id !== "ap_w")
        return event;
      const { question: _question, ...approval } = event.approval;
      return { ...event, approval: { ...approval, expanded_arguments } };
    });
    const { message } = await readChunks(toChunks(events));
    return message?.parts.find((part) => part.type === "dynamic-tool");
  };

  test("is shown with its expanded arguments", async () => {
    const part = await readExpandedCall({ text: '{"location":"the content"}' });
    expect(part).toMatchObject({ toolCallId: "call_w", input: { location: "the content" } });
  });

  test("has a link to its expanded arguments in the reason of its approval request if they are long", async () => {
    const part = await readExpandedCall({
      head: "{",
      tail: "}",
      length: 30_000,
      url: "/api/blobs/1",
    });
    const requestReason = expect.stringContaining("30000 characters long. Read it at /api/blobs/1");
    expect(part).toMatchObject({ toolCallId: "call_w", approval: { requestReason } });
  });
});

describe("a tool that streams its result", () => {
  const writeEvents = (deltas: readonly string[]) => {
    const { events, root } = createRecordingWriter();
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
      args_hash: hashArguments("{}"),
      effect: "pure",
      idempotency_key: "key_1",
    });
    for (const delta of deltas) result.textDelta(delta);
    root.executionDone("call_1", "exec_1", "completed", 1);
    result.done();
    root.update(call.itemId, { status: "completed", outcome: "completed" });
    return events;
  };
  const filterOutputs = (chunks: readonly UiChunk[]) =>
    chunks.filter((chunk) => chunk.type === "tool-output-available");

  test("is shown as a growing preliminary output and then as the output", async () => {
    const chunks = toChunks(writeEvents(["x".repeat(30), "y".repeat(30)]));
    expect(filterOutputs(chunks)).toMatchObject([
      { preliminary: true, output: [{ type: "text", text: "x".repeat(30) }] },
      { preliminary: true, output: [{ type: "text", text: "x".repeat(30) + "y".repeat(30) }] },
      { output: [{ type: "text", text: "x".repeat(30) + "y".repeat(30) }] },
    ]);
    expect(filterOutputs(chunks).at(-1)).not.toHaveProperty("preliminary");
    const { message, errors } = await readChunks(chunks);
    expect(errors).toEqual([]);
    expect(message?.parts.find((part) => part.type === "dynamic-tool")).toMatchObject({
      state: "output-available",
      output: [{ type: "text", text: "x".repeat(30) + "y".repeat(30) }],
    });
  });

  test("sends chunks of limited total size, however many deltas it has", () => {
    const deltas = Array.from({ length: 20_000 }, () => "word ");
    const sentLength = JSON.stringify(filterOutputs(toChunks(writeEvents(deltas)))).length;
    expect(sentLength).toBeLessThan(8 * 5 * 20_000);
  });
});

describe("a task as a UI message", () => {
  test("has all parts in one message", async () => {
    const { message, errors } = await readChunks(toChunks(createScriptedTask().events));
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

  test("consists of chunks that the schema of the SDK accepts", async () => {
    const schema = uiMessageChunkSchema();
    for (const chunk of toChunks(createScriptedTask().events))
      expect(await schema.validate?.(JSON.parse(JSON.stringify(chunk)))).toMatchObject({
        success: true,
      });
  });

  test("drops a retracted item immediately and keeps the rest of the step", async () => {
    const { snapshots } = await readChunks(toChunks(createScriptedTask().events));
    const texts = snapshots.map(({ parts }) =>
      parts.flatMap((part) => (part.type === "text" ? [part] : [])),
    );
    const retracted = texts.filter((list) => list.some(({ text }) => text.startsWith("It is")));
    expect(retracted.length).toBeGreaterThan(0);
    expect(retracted.flat().every(({ state }) => state === "streaming")).toBe(true);
    const after = snapshots.at(-1)?.parts.filter(({ type }) => type === "reasoning");
    expect(after).toHaveLength(3);
  });

  test("is the same for coalesced events", async () => {
    const { events } = createScriptedTask();
    const complete = await readChunks(toChunks(events));
    expect((await readChunks(toChunks(coalesce(events)))).message).toEqual(complete.message);
  });

  test("ignores duplicated events", () => {
    const { events } = createScriptedTask();
    expect(toChunks(events.flatMap((event) => [event, event]))).toEqual(toChunks(events));
  });

  test("ignores events without a number", () => {
    const { events } = createScriptedTask();
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
    expect(out).toEqual(toChunks(events));
  });

  test("does not contain the blocks of a rejected result", async () => {
    const { events, root } = createRecordingWriter();
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
    const pendingRead = await readChunks(toChunks(events));
    expect(JSON.stringify(pendingRead.message)).toContain("very private");
    root.approvalResolved("ap_1", { decision: "deny", by: "me", scope: "once", reason: "no" });
    root.working();
    const result = root.toolResult("call_1");
    result.block({ type: "text", text: "not shown" });
    result.done({ status: "denied", outcome: "denied" });
    const { message } = await readChunks(toChunks(events));
    expect(JSON.stringify(message)).not.toContain("very private");
    expect(message?.parts.at(-1)).toMatchObject({
      type: "dynamic-tool",
      state: "output-denied",
      approval: { id: "ap_1", approved: false, reason: "no" },
    });
  });

  test("has a data part for an approval without a call", async () => {
    const { events, root } = createRecordingWriter();
    root.approvalRequested({
      approval_id: "ap_1",
      kind: "limit",
      choices: ["approve", "deny"],
      question: "Ten rounds are over. Go on?",
    });
    root.inputRequired("limit", ["ap_1"]);
    const pendingRead = await readChunks(toChunks(events));
    expect(pendingRead.message?.parts).toMatchObject([
      { type: "data-approval", id: "ap_1", data: { status: "pending" } },
    ]);
    root.approvalResolved("ap_1", { decision: "approve", by: "me", scope: "once" });
    expect((await readChunks(toChunks(events))).message?.parts).toMatchObject([
      { type: "data-approval", id: "ap_1", data: { status: "resolved" } },
    ]);
  });

  test("has errors for a call with incomplete arguments and for a failed call", async () => {
    const { events, root } = createRecordingWriter();
    root.roundStarted(1, "m");
    const incompleteCall = root.toolCall("call_1", "write");
    incompleteCall.argumentsDelta('{"te');
    incompleteCall.done('{"te', { status: "incomplete" });
    const failedCall = root.toolCall("call_2", "write");
    failedCall.done("");
    root.roundDone(1, "length", usage);
    for (const [id, outcome, text] of [
      ["call_1", "incomplete", "It was not run."],
      ["call_2", "failed", "No such file."],
    ] as const) {
      const result = root.toolResult(id);
      result.block({ type: "text", text });
      result.done({ status: outcome, outcome });
    }
    const { message } = await readChunks(toChunks(events));
    expect(message?.parts.slice(1)).toMatchObject([
      { state: "output-error", input: '{"te', errorText: "It was not run." },
      { state: "output-error", input: {}, errorText: "No such file." },
    ]);
  });
});

describe("the end of a message", () => {
  test("of a failed task is an error that keeps the parts before it", async () => {
    const { events, root } = createRecordingWriter();
    root.roundStarted(1, "m");
    const message = root.message();
    message.text("So far.");
    message.done();
    root.roundDone(1, "stop", usage);
    root.failed({ code: "upstream", message: "the model is gone", retryable: true }, usage);
    const chunks = toChunks(events);
    expect(chunks.slice(-3)).toMatchObject([
      { type: "error", errorText: "the model is gone" },
      { type: "finish-step" },
      { type: "finish", finishReason: "error" },
    ]);
    const { message: failed, errors } = await readChunks(chunks);
    expect(errors).toEqual([new Error("the model is gone")]);
    expect(failed?.metadata).toMatchObject({ error: { code: "upstream" } });
  });

  test("of a canceled task is an abort", () => {
    const { events, root } = createRecordingWriter();
    root.canceled("me", "enough", usage);
    expect(toChunks(events).slice(1)).toMatchObject([
      { type: "abort", reason: "enough" },
      { type: "finish", finishReason: "other", messageMetadata: { status: "canceled" } },
    ]);
  });

  test("of a running task is an interruption", () => {
    const { events } = createScriptedTask();
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

describe("a client that reconnects", () => {
  test("continues its message after any event and ends with the same message", async () => {
    const { events } = createScriptedTask();
    const complete = await readChunks(toChunks(events));
    for (let cut = 1; cut < events.length; cut += 1) {
      const before = await readChunks(toChunks(events.slice(0, cut)));
      const rest = await readChunks(toChunks(events, cut - 1), before.message);
      expect(rest.errors).toEqual([]);
      expect(rest.message).toEqual(complete.message);
    }
  });

  test("receives no part twice if it was disconnected at an approval", () => {
    const { events, asks } = createScriptedTask();
    for (const ask of asks)
      expect(toChunks(events, ask).filter(({ type }) => type === "reset-step")).toHaveLength(1);
  });

  test("continues after any event of random tasks", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, fc.nat(), async ({ events }, place) => {
        const cut = 1 + (place % events.length);
        const before = await readChunks(toChunks(events.slice(0, cut)));
        const rest = await readChunks(toChunks(events, cut - 1), before.message);
        const complete = await readChunks(toChunks(events));
        expect(rest.message?.parts).toEqual(complete.message?.parts);
      }),
      propertyRuns(60),
    );
  });
});

describe("random tasks", () => {
  test("have all text and calls in the message, and no open parts", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async ({ events, state }) => {
        const { message, errors } = await readChunks(toChunks(events));
        const view = buildTaskView(state);
        const fails = view.status === "failed" || view.status === "expired";
        expect(errors).toHaveLength(fails ? 1 : 0);
        const parts = message?.parts ?? [];
        expect(parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual(
          view.output.flatMap(getTexts),
        );
        const answered = parts.flatMap((part) =>
          part.type === "dynamic-tool" && part.state.startsWith("output-") ? [part.toolCallId] : [],
        );
        const calls = view.output.flatMap((item) =>
          item.type === "tool_call" ? [item.call_id] : [],
        );
        expect(answered).toEqual(expect.arrayContaining(calls));
        const openParts = parts.filter(
          (part) => (part.type === "text" || part.type === "reasoning") && part.state !== "done",
        );
        expect(openParts).toEqual([]);
      }),
      propertyRuns(150),
    );
  });

  test("have only chunks that the schema of the SDK accepts", async () => {
    const schema = uiMessageChunkSchema();
    await fc.assert(
      fc.asyncProperty(randomRun, async ({ events }) => {
        for (const chunk of toChunks(events))
          expect(await schema.validate?.(JSON.parse(JSON.stringify(chunk)))).toMatchObject({
            success: true,
          });
      }),
      propertyRuns(30),
    );
  });
});

describe("useChat", () => {
  test("sends a message, responds to two approvals, and has the complete task in one message", async () => {
    const { events, asks } = createScriptedTask();
    const server = new ChatServer(events, asks);
    const chat = new TestChat(server.fetch);
    await chat.sendMessage({ text: "Weather?" });
    expect(chat.status).toBe("ready");
    expect(getPendingApprovals(chat)).toEqual(["ap_w"]);
    await chat.respond("ap_w", true);
    expect(getPendingApprovals(chat)).toEqual(["ap_c"]);
    await chat.respond("ap_c", true, "fine");

    expect(server.inputs.map(({ input, approvals }) => ({ input, approvals }))).toEqual([
      { input: [{ type: "text", text: "Weather?" }], approvals: [] },
      { input: [], approvals: [{ approval_id: "ap_w", approved: true }] },
      { input: [], approvals: [{ approval_id: "ap_c", approved: true, reason: "fine" }] },
    ]);
    const complete = await readChunks(toChunks(events));
    expect(chat.messages).toHaveLength(2);
    expect(withoutReason(chat.messages[1])).toEqual(withoutReason(complete.message));
  });

  test("resumes a stream into its existing message", async () => {
    const { events, asks } = createScriptedTask();
    const server = new ChatServer(events, asks);
    const chat = new TestChat(server.fetch);
    await chat.sendMessage({ text: "Weather?" });
    server.at = events.length;
    await chat.resumeStream();
    expect(chat.messages).toHaveLength(2);
    expect(chat.messages[1]).toEqual((await readChunks(toChunks(events))).message);
  });

  test("sends the history without citation markers with the next message", async () => {
    const { events } = createScriptedTask();
    const { message } = await readChunks(toChunks(events));
    const { input, history, approvals, continues, chat_id } = parseUiInput({
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
    [{ messages: [] }, "messages must be an array with at least one message"],
    [{ messages: [{ role: "tool", parts: [] }] }, "messages[0].role must be user, assistant"],
    [{ messages: [{ role: "user" }] }, "messages[0].parts must be an array"],
    [{ messages: [{ role: "user", parts: [] }] }, "messages[0].parts must have text or a file"],
    [
      { messages: [{ role: "user", parts: [{ type: "text" }] }] },
      "messages[0].parts[0].text must be a string",
    ],
    [{ messages: [{ role: "assistant", parts: [] }] }, "the last message must be from the user"],
  ])("rejects the body %j: %s", (body, message) => {
    expect(() => parseUiInput(body)).toThrow(message);
  });

  test("accepts up to 10,000 parts", () => {
    const messages = (count: number) => [
      { role: "user", parts: Array.from({ length: count }, () => ({ type: "text", text: "x" })) },
    ];
    expect(parseUiInput({ messages: messages(10_000) }).input).toHaveLength(10_000);
    expect(() => parseUiInput({ messages: messages(10_001) })).toThrow("at most 10000 parts");
  });
});

/** Converts events to chunks. `after`: only those after this event. */
function toChunks(events: readonly TaskEvent[], after?: number): UiChunk[] {
  const stream = new UiMessageStream(after === undefined ? {} : { after });
  const out: UiChunk[] = [];
  for (const event of events) stream.push(event, out);
  return out;
}

/** Reads chunks with the SDK after a round trip through JSON. */
async function readChunks(chunks: readonly UiChunk[], message?: UIMessage) {
  const errors: unknown[] = [];
  const snapshots: UIMessage[] = [];
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(cloneAsJson(chunk));
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

function cloneAsJson(chunk: UIMessageChunk): UIMessageChunk {
  return JSON.parse(JSON.stringify(chunk)) as UIMessageChunk;
}

function getTexts(item: OutputItem): string[] {
  if (item.type !== "message") return [];
  return item.block_list.flatMap((block) => (block.type === "text" ? [block.text] : []));
}

/** A server that sends the task up to its next approval with each request. */
class ChatServer {
  readonly inputs: ReturnType<typeof parseUiInput>[] = [];
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
      const input = parseUiInput(JSON.parse(request.body as string));
      this.inputs.push(input);
      after = input.continues?.after ?? -1;
      this.at = (this.#asks.find((ask) => ask >= this.at) ?? this.#events.length - 1) + 1;
    }
    const stream = new UiMessageStream({ after });
    const out: UiChunk[] = [];
    for (const event of this.#events.slice(0, this.at)) stream.push(event, out);
    if (stream.isWaiting) stream.end(out);
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

/** `useChat` without a framework. */
class TestChat extends AbstractChat<UIMessage> {
  constructor(fetch: ChatServer["fetch"]) {
    super({
      id: "chat_1",
      state: new TestState(),
      transport: new DefaultChatTransport({ fetch, api: "http://localhost/chat" }),
      sendAutomaticallyWhen: areApprovalsAnswered,
    });
  }

  /** Resolves when the chat has sent the response and read the result. */
  async respond(id: string, approved: boolean, reason?: string): Promise<void> {
    await this.addToolApprovalResponse({
      id,
      approved,
      ...(reason === undefined ? {} : { reason }),
    });
    await vi.waitUntil(() => this.status === "ready" && hasOutput(this, id), { interval: 5 });
  }
}

function getToolParts(chat: TestChat) {
  return (chat.messages.at(-1)?.parts ?? []).flatMap((part) =>
    part.type === "dynamic-tool" ? [part] : [],
  );
}

function getPendingApprovals(chat: TestChat): string[] {
  return getToolParts(chat).flatMap((part) =>
    part.state === "approval-requested" ? [part.approval.id] : [],
  );
}

function hasOutput(chat: TestChat, id: string): boolean {
  return getToolParts(chat).some(
    (part) => part.approval?.id === id && part.state === "output-available",
  );
}

/** Removes the reason of the response, which is not in the log of the scripted task. */
function withoutReason(message: UIMessage | undefined): unknown {
  return JSON.parse(JSON.stringify(message).replaceAll(',"reason":"fine"', ""));
}
