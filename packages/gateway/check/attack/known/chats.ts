import { setTimeout as sleep } from "node:timers/promises";
import type { AttackCase } from "../cases.ts";
import { send, type ClientReply } from "../client.ts";
import { findEndFaults, findErrorFaults } from "../judge-reply.ts";
import type { Target } from "../target.ts";

/* Chats that are large, and chats whose private values are hard to find. */

/** A client of one gateway. */
class ChatCaller {
  readonly #target: Target;
  readonly #token: string;
  readonly faults: string[] = [];

  constructor(target: Target, token: string) {
    this.#target = target;
    this.#token = token;
  }

  /** Sends a request; any reply except an internal error is accepted. */
  async call(method: string, path: string, body?: unknown): Promise<ClientReply> {
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const reply = await send(this.#target.url, { method, path, headers, ...text });
    const faults = [
      ...findEndFaults(reply),
      ...(reply.status >= 400 ? findErrorFaults(reply) : []),
    ];
    this.faults.push(...faults.map((fault) => `${method} ${path.slice(0, 80)}: ${fault}`));
    return reply;
  }

  /** Returns the id of a new chat; "" if it is rejected. */
  async create(body: unknown): Promise<string> {
    const { status, text } = await this.call("POST", "/api/chats", body);
    if (status === 201) return (JSON.parse(text) as { chat: { chat_id: string } }).chat.chat_id;
    this.faults.push(`a chat is not created: ${text.slice(0, 300)}`);
    return "";
  }

  /** Waits until no answer is running in a chat. */
  async waitUntilSettled(chat: string): Promise<void> {
    for (let attempt = 0; attempt < 300; attempt += 1) {
      const { status, text } = await this.call("GET", `/api/chats/${chat}`);
      if (status !== 200 || !text.includes('"status":"running"')) return;
      await sleep(30);
    }
    this.faults.push("an answer never ends");
  }
}

const patterns = [
  "\\w+\\d",
  "(a+)+$",
  "(\\w*\\s*)*@",
  "([a-z]+)*\\d",
  "\\s+$",
  "(x|x)*y",
  ".*.*.*=",
  "\\b[\\w.]+@[\\w.]+\\b",
  `${"(".repeat(30)}\\b${")+".repeat(30)}a`,
];

export function createChatCases(token: string): AttackCase[] {
  return [
    {
      name: "a chat of 100,000 messages is imported, opened, edited, searched and exported",
      requests: 12,
      alone: true,
      async run(target) {
        const caller = new ChatCaller(target, token);
        const messages = Array.from({ length: 100_000 }, (_, index) => ({
          role: index % 2 === 0 ? "user" : "assistant",
          content: `message ${index}`,
        }));
        const importReply = await caller.call("POST", "/api/chats/import", messages);
        const chat = /"chat_id":"([^"]+)"/.exec(importReply.text)?.[1];
        if (chat === undefined) return caller.faults;
        await useChat(caller, chat);
        return caller.faults;
      },
    },
    {
      name: "a chat of 2,000 messages is imported, opened, edited, searched and exported",
      requests: 12,
      alone: true,
      async run(target) {
        const caller = new ChatCaller(target, token);
        const messages = Array.from({ length: 2000 }, (_, index) => ({
          role: index % 2 === 0 ? "user" : "assistant",
          content: `message ${index}`,
        }));
        const importReply = await caller.call("POST", "/api/chats/import", messages);
        const chat = /"chat_id":"([^"]+)"/.exec(importReply.text)?.[1];
        if (chat === undefined)
          return [...caller.faults, `not imported: ${importReply.text.slice(0, 300)}`];
        await useChat(caller, chat);
        return caller.faults;
      },
    },
    {
      name: "a file of chats with 2,000,000 JSON values",
      alone: true,
      async run(target) {
        const caller = new ChatCaller(target, token);
        const node = Object.fromEntries(
          Array.from({ length: 90 }, (_, index) => [`k${index}`, `${index}`]),
        );
        const nodes = Object.fromEntries(
          Array.from({ length: 10_000 }, (_, index) => [`n${index}`, node]),
        );
        await caller.call("POST", "/api/chats/import", {
          format: "deltawire.chat",
          version: 1,
          exported_at: "2026-01-31T12:00:00.000Z",
          chats: [{ chat: { nodes }, replays: {} }],
          blobs: {},
        });
        return caller.faults;
      },
    },
    ...patterns.map((pattern): AttackCase => ({
      name: `the privacy pattern ${pattern} on 80 KB`,
      requests: 10,
      alone: true,
      async run(target) {
        const caller = new ChatCaller(target, token);
        const fields = [{ kind: "pattern", pattern, label: "X" }];
        const { status, text } = await caller.call("POST", "/api/chats", {
          settings: { privacy: { enabled: true, fields } },
        });
        if (status !== 201) return caller.faults;
        const { chat_id } = (JSON.parse(text) as { chat: { chat_id: string } }).chat;
        for (const message of [
          "a".repeat(80_000),
          "a ".repeat(40_000),
          `${"a".repeat(39)}! `.repeat(2000),
        ]) {
          await caller.call("POST", `/api/chats/${chat_id}/send`, { text: message });
          await caller.waitUntilSettled(chat_id);
        }
        return caller.faults;
      },
    })),
    {
      name: "the built-in kinds of private values on texts that look like them",
      requests: 30,
      alone: true,
      async run(target) {
        const caller = new ChatCaller(target, token);
        const fields = ["email", "phone", "card", "key", "password", "id"].map((kind) => ({
          kind,
        }));
        const chat = await caller.create({ settings: { privacy: { enabled: true, fields } } });
        const texts = [
          "a@".repeat(100_000),
          "1 ".repeat(100_000),
          "a.".repeat(100_000),
          "password ".repeat(20_000),
          "0".repeat(200_000),
          "sk-".repeat(60_000),
          "@".repeat(200_000),
          `${"a".repeat(200_000)}@`,
        ];
        for (const text of texts) {
          await caller.call("POST", `/api/chats/${chat}/send`, { text });
          await caller.waitUntilSettled(chat);
        }
        return caller.faults;
      },
    },
    {
      name: "private values of 400 chats do not stay in memory",
      slow: true,
      requests: 1200,
      alone: true,
      async run(target) {
        const caller = new ChatCaller(target, token);
        const measureHeapAfterChats = async (start: number): Promise<number> => {
          for (let index = start; index < start + 200; index += 1) {
            const chat = await caller.create({
              settings: { privacy: { enabled: true, fields: [{ kind: "email" }] } },
            });
            const text = Array.from(
              { length: 1500 },
              (_, number) => `user${index}x${number}@host${number}.example`,
            ).join(" ");
            await caller.call("POST", `/api/chats/${chat}/send`, { text });
            await caller.waitUntilSettled(chat);
          }
          return (await target.measure({ collect: true }))?.heapBytes ?? 0;
        };
        const before = await measureHeapAfterChats(0);
        const after = await measureHeapAfterChats(200);
        const perChat = (after - before) / 200;
        return perChat > maxBytesPerChat
          ? [...caller.faults, `each chat leaves ${Math.round(perChat / 1024)} KB in memory`]
          : caller.faults;
      },
    },
  ];
}

const maxBytesPerChat = 64 * 1024;

async function useChat(caller: ChatCaller, chat: string): Promise<void> {
  const openReply = await caller.call("GET", `/api/chats/${chat}`);
  const revision = Number(/"revision":(\d+)/.exec(openReply.text)?.[1] ?? 0);
  await caller.call("POST", `/api/chats/${chat}/edits`, {
    revision,
    edits: [{ type: "rename", title: "renamed" }],
  });
  await caller.call("GET", "/api/chats?q=message");
  await caller.call("GET", "/api/chats");
  for (const format of ["markdown", "html", "json", "openai"])
    await caller.call("GET", `/api/chats/${chat}/export?format=${format}`);
  await caller.call("POST", `/api/chats/${chat}/send`, { text: "and more" });
  await caller.waitUntilSettled(chat);
  await caller.call("DELETE", `/api/chats/${chat}`);
}
