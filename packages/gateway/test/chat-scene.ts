import {
  ChatApiError,
  createChatClient,
  nodeOf,
  type AnswerVersion,
  type Chat,
  type ChatChange,
  type ChatClient,
  type ChatFeedEvent,
  type ChatReply,
  type FetchReply,
} from "@deltawire/tasks/chats";
import type { StartOptions, TestGateway } from "./running-gateway.ts";
import { aGateway, pause } from "./scene.ts";
import { Stream } from "./task-stage.ts";

export interface ChatScene {
  gateway: TestGateway;
  client: ChatClient;
  url: string;
  /** Every answer that the client got, by its request. */
  replies: { request: string; reply: FetchReply }[];
}

/** A gateway with the demo model, and the typed client of its chats. */
export async function chatScene(
  options: StartOptions & { toml?: string } = {},
): Promise<ChatScene> {
  const { toml = "", ...more } = options;
  const gateway = await aGateway(
    `[server]\nport = 0\ndemo = true\n[chats]\ntitles = false\n${toml}`,
    more,
  );
  const replies: ChatScene["replies"] = [];
  const client = createChatClient({
    base: gateway.url,
    fetch: async (url, request) => {
      const reply = await fetch(url, request);
      replies.push({ request: `${request.method} ${new URL(url).pathname}`, reply });
      return reply;
    },
  });
  return { gateway, client, url: gateway.url, replies };
}

/** A chat in which one question was answered. */
export async function answeredChat(client: ChatClient, text = "Hello") {
  const { chat } = await client.create();
  const sent = await client.send(chat.chat_id, { text });
  const settled = await whenSettled(client, chat.chat_id);
  const question = settled.chat.roots[0] ?? "";
  return { id: chat.chat_id, question, answer: sent.node_id, settled };
}

/** Waits until no answer of a chat runs. */
export async function whenSettled(client: ChatClient, chatId: string): Promise<ChatReply> {
  const end = Date.now() + 30_000;
  for (;;) {
    const opened = await client.open(chatId);
    if (answersOf(opened.chat).every(({ status }) => status !== "running")) return opened;
    if (Date.now() > end) throw new Error("an answer never came to its end");
    await pause(10);
  }
}

export function answersOf({ nodes }: Chat): AnswerVersion[] {
  return Object.values(nodes).flatMap((node) => (node.kind === "answer" ? node.versions : []));
}

/** What an answer says, of all its messages. */
export function textOf(chat: Chat, nodeId: string): string {
  const node = nodeOf(chat, nodeId);
  if (node?.kind !== "answer") throw new Error(`${nodeId} is no answer`);
  const { output = [] } = node.versions.find(({ version_id }) => version_id === node.version) ?? {};
  return output
    .flatMap((item) => (item.type === "message" ? item.block_list : []))
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("");
}

/** What a request fails with: status, code and param. */
export async function refusalOf(
  asked: Promise<unknown>,
): Promise<[status: number, code: string, param: string | undefined]> {
  const { status, code, param } = await errorOf(asked);
  return [status, code, param];
}

export async function errorOf(asked: Promise<unknown>): Promise<ChatApiError> {
  try {
    await asked;
  } catch (error) {
    if (error instanceof ChatApiError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

export class FeedReader extends Stream<ChatFeedEvent | ChatChange> {
  /** Of all changes that came: the chats, in order. */
  get changed(): string[] {
    return this.frames.flatMap(({ event }) => {
      if (event.type === "chat.changed") return [event.chat.chat_id];
      return event.type === "chat.removed" ? [event.chat_id] : [];
    });
  }
}
