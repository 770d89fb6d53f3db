import { areApprovalsAnswered, type TaskView } from "@deltawire/tasks";
import {
  AbstractChat,
  DefaultChatTransport,
  validateUIMessages,
  type ChatState,
  type ChatStatus,
  type UIMessage,
} from "ai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { agentFixture, type AgentFixture } from "./agent-fixture.ts";

/* `useChat` of every framework is a thin shell around AbstractChat and a transport; these are the real ones. */

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await agentFixture({ paceMs: 2 });
});

afterAll(() => fixture.close());

class PlainState implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }

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

class Chat extends AbstractChat<UIMessage> {
  readonly data: string[];

  constructor(id: string, messages: UIMessage[] = [], api = "/api/ui-messages?agent=demo-agent") {
    const data: string[] = [];
    super({
      id,
      state: new PlainState(messages),
      transport: new DefaultChatTransport({ api: fixture.gateway.url + api }),
      sendAutomaticallyWhen: areApprovalsAnswered,
      onData: ({ type }) => void data.push(type),
    });
    this.data = data;
  }

  get parts(): UIMessage["parts"] {
    return this.messages.at(-1)?.parts ?? [];
  }

  get texts(): string[] {
    return this.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  }

  tool(name: string) {
    return this.parts.find((part) => part.type === "dynamic-tool" && part.toolName === name);
  }

  /** The ids of the pending approvals. */
  get pendingApprovalIds(): string[] {
    return this.parts.flatMap((part) =>
      part.type === "dynamic-tool" && part.state === "approval-requested" ? [part.approval.id] : [],
    );
  }

  /** Resolves when the decision was sent and the reply was read. */
  async answer(id: string, approved: boolean, reason?: string): Promise<void> {
    const more = reason === undefined ? {} : { reason };
    await this.addToolApprovalResponse({ id, approved, ...more });
    await vi.waitUntil(() => this.status === "ready" && isAnswered(this, id), { timeout: 5000 });
  }
}

function isAnswered({ parts }: Chat, id: string): boolean {
  return parts.some(
    (part) =>
      part.type === "dynamic-tool" && part.approval?.id === id && part.state.startsWith("output-"),
  );
}

async function fetchTask(message: UIMessage | undefined): Promise<TaskView> {
  const reply = await fetch(`${fixture.gateway.url}/api/tasks/${message?.id}`);
  return (await reply.json()) as TaskView;
}

function listTexts(task: TaskView): string[] {
  return task.output.flatMap((item) =>
    item.type === "message"
      ? item.block_list.flatMap((block) => (block.type === "text" ? [block.text] : []))
      : [],
  );
}

describe("useChat on a task", () => {
  test("shows a question with a tool: reasoning, the call with its result, the answer with its source", async () => {
    const chat = new Chat("tool");
    await chat.sendMessage({ text: "What is the weather in Oslo?" });
    expect([chat.status, chat.error]).toEqual(["ready", undefined]);
    expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(chat.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "reasoning",
      "text",
      "dynamic-tool",
      "source-document",
      "step-start",
      "reasoning",
      "text",
    ]);
    expect(chat.tool("get_weather")).toMatchObject({
      state: "output-available",
      input: { city: "Oslo" },
      output: [{ type: "text", text: expect.stringContaining("sunny") }],
    });
    const [message] = chat.messages.slice(-1);
    const task = await fetchTask(message);
    expect(message?.metadata).toMatchObject({ task_id: task.task_id, status: "completed" });
    expect(chat.texts).toEqual(listTexts(task));
    await expect(validateUIMessages({ messages: chat.messages })).resolves.toHaveLength(2);
  });

  test("sends the first turn to the model with the second", async () => {
    const chat = new Chat("turns");
    await chat.sendMessage({ text: "What is the weather in Oslo?" });
    await chat.sendMessage({ text: "Good night" });
    expect(chat.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(chat.texts.join()).toContain("> Good night");
    const { body } = fixture.demo.requests.findLast(({ method }) => method === "POST") ?? {};
    const { messages } = body as { messages: { role: string; content: string }[] };
    expect(messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    expect(messages[4]?.content).toContain("Oslo");
    expect(messages[4]?.content).not.toContain("[^1]");
  });

  test("requests an approval in the message, where it is decided and the answer continues", async () => {
    const chat = new Chat("approval");
    await chat.sendMessage({ text: "Send a message to Ann: hello" });
    const [id = ""] = chat.pendingApprovalIds;
    expect(chat.tool("send_message")).toMatchObject({ input: { to: "Ann" } });
    expect((await fetchTask(chat.messages.at(-1))).status).toBe("input_required");
    await chat.answer(id, true);
    expect(chat.messages).toHaveLength(2);
    expect(chat.tool("send_message")).toMatchObject({
      state: "output-available",
      approval: { id, approved: true },
    });
    const task = await fetchTask(chat.messages.at(-1));
    expect(task.status).toBe("completed");
    expect(task.approvals).toMatchObject([{ resolution: { decision: "approve", by: "user" } }]);
    expect(chat.texts).toEqual(listTexts(task));
  });

  test("sends a denial to the model with its reason", async () => {
    const chat = new Chat("refusal");
    await chat.sendMessage({ text: "Send a message to Bob: hello" });
    await chat.answer(chat.pendingApprovalIds[0] ?? "", false, "he is asleep");
    expect(chat.tool("send_message")).toMatchObject({
      state: "output-denied",
      approval: { approved: false, reason: "he is asleep" },
    });
    expect(chat.texts.at(-1)).toContain("he is asleep");
  });

  test("replaces a late decision with the first one", async () => {
    const chat = new Chat("late");
    await chat.sendMessage({ text: "Send a message to Cleo: hello" });
    const [id = ""] = chat.pendingApprovalIds;
    const first = await fetch(`${fixture.gateway.url}/api/approvals/${id}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ decision: "deny", reason: "no" }),
    });
    expect(first.status).toBe(200);
    await chat.answer(id, true);
    expect(chat.tool("send_message")).toMatchObject({
      state: "output-denied",
      approval: { approved: false, reason: "no" },
    });
  });

  test("shows a sub-agent's work in separate parts, with live text", async () => {
    const chat = new Chat("helper");
    await chat.sendMessage({ text: "Ask the forecaster to tell the weather in Rome" });
    expect(chat.tool("ask_for_help")).toMatchObject({
      state: "output-available",
      output: [{ type: "text", text: expect.stringContaining("Rome") }],
    });
    expect(chat.parts).toContainEqual(
      expect.objectContaining({
        type: "data-subtask",
        data: expect.objectContaining({ agent: "forecaster", status: "completed" }),
      }),
    );
    expect(chat.parts.filter(({ type }) => type === "data-subtask-item").length).toBeGreaterThan(3);
    expect(chat.data).toContain("data-subtask-delta");
    // Its calls are not calls of this message.
    expect(chat.tool("get_weather")).toBeUndefined();
  });

  test("shows the complete message on a page that is reopened while the task runs", async () => {
    const chat = new Chat("reload");
    void chat.sendMessage({ text: "long 300" });
    await vi.waitUntil(() => (chat.texts[0]?.length ?? 0) > 50, { timeout: 5000, interval: 1 });
    const savedMessages = structuredClone(chat.messages);
    await chat.stop();
    // Disconnecting does not cancel the task.
    expect((await fetchTask(savedMessages.at(-1))).status).toBe("working");
    const reloaded = new Chat("reload", savedMessages);
    await reloaded.resumeStream();
    expect(reloaded.messages).toHaveLength(2);
    const task = await fetchTask(reloaded.messages.at(-1));
    expect(task.status).toBe("completed");
    expect(reloaded.texts).toEqual(listTexts(task));
    expect(savedMessages.at(-1)?.id).toBe(task.task_id);
    // Now there is nothing to resume, but a page that missed the end can still get it.
    const address = `${fixture.gateway.url}/api/ui-messages/reload/stream`;
    expect((await fetch(address)).status).toBe(204);
    const late = new Chat("reload", savedMessages, "/api/ui-messages?replay=all");
    await late.resumeStream();
    expect(late.messages).toEqual(reloaded.messages);
  });

  test("can decide an approval on a page that is reopened", async () => {
    const chat = new Chat("asked");
    await chat.sendMessage({ text: "Send a message to Dan: hello" });
    const reloaded = new Chat("asked", structuredClone(chat.messages.slice(0, 1)));
    await reloaded.resumeStream();
    expect(reloaded.pendingApprovalIds).toEqual(chat.pendingApprovalIds);
    await reloaded.answer(reloaded.pendingApprovalIds[0] ?? "", true);
    expect((await fetchTask(reloaded.messages.at(-1))).status).toBe("completed");
    expect(reloaded.messages).toHaveLength(2);
  });

  test("leaves the chat unchanged if there is nothing to resume", async () => {
    const chat = new Chat("nothing");
    await chat.resumeStream();
    expect([chat.status, chat.messages]).toEqual(["ready", []]);
  });

  test("ends a task that is waiting for an approval when the user sends a message instead", async () => {
    const chat = new Chat("instead");
    await chat.sendMessage({ text: "Send a message to Eve: hello" });
    const asking = chat.messages.at(-1);
    await chat.sendMessage({ text: "Good morning" });
    expect(chat.texts.join()).toContain("> Good morning");
    await vi.waitUntil(async () => (await fetchTask(asking)).status === "canceled", {
      timeout: 2000,
    });
  });

  test("works with a plain model too, which receives images", async () => {
    const chat = new Chat("model", [], "/api/ui-messages?model=lab/clean");
    const url = `data:image/png;base64,${Buffer.from("a picture").toString("base64")}`;
    await chat.sendMessage({
      text: "What is this?",
      files: [{ type: "file", mediaType: "image/png", url }],
    });
    expect(chat.texts.join()).toContain("I received 1 image (image/png, ");
  });

  test("reports a failure as the chat's error", async () => {
    const chat = new Chat("failure", [], "/api/ui-messages?agent=nobody");
    await chat.sendMessage({ text: "Hello" });
    expect(chat.status).toBe("error");
    expect(chat.error?.message).toContain("unknown agent");
    const cut = new Chat("cut", [], "/api/ui-messages?model=lab/nobody");
    await cut.sendMessage({ text: "Hello" });
    expect([cut.status, cut.error?.message]).toEqual(["error", expect.stringContaining("nobody")]);
  });
});
