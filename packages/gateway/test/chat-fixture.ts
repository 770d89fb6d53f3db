import {
  ChatApiError,
  createChatClient,
  findNode,
  type AnswerVersion,
  type Chat,
  type ChatChange,
  type ChatClient,
  type ChatFeedEvent,
  type ChatReply,
  type FetchResponse,
} from "@deltawire/tasks/chats";
import type { TestGatewayOptions, TestGateway } from "./test-gateway.ts";
import { testGateway, sleep } from "./gateway-fixture.ts";
import { TestStream } from "./task-server-fixture.ts";

export interface ChatGatewayFixture {
  gateway: TestGateway;
  client: ChatClient;
  url: string;
  /** Every reply that the client received, with its request. */
  replies: { request: string; reply: FetchResponse }[];
}

/** A gateway with the demo model, and the typed client of its chats. */
export async function chatGatewayFixture(
  options: TestGatewayOptions & { toml?: string } = {},
): Promise<ChatGatewayFixture> {
  const { toml = "", ...more } = options;
  const gateway = await testGateway(
    `[server]\nport = 0\ndemo = true\n[chats]\ntitles = false\n${toml}`,
    more,
  );
  const replies: ChatGatewayFixture["replies"] = [];
  const client = createChatClient({
    baseUrl: gateway.url,
    fetch: async (url, request) => {
      const reply = await fetch(url, request);
      replies.push({ request: `${request.method} ${new URL(url).pathname}`, reply });
      return reply;
    },
  });
  return { gateway, client, url: gateway.url, replies };
}

/** Creates a chat with one answered message. */
export async function answeredChat(client: ChatClient, text = "Hello") {
  const { chat } = await client.create();
  const sentMessage = await client.send(chat.chat_id, { text });
  const settled = await waitUntilSettled(client, chat.chat_id);
  const question = settled.chat.roots[0] ?? "";
  return { id: chat.chat_id, question, answer: sentMessage.node_id, settled };
}

/** Waits until no answer of a chat is running. */
export async function waitUntilSettled(client: ChatClient, chatId: string): Promise<ChatReply> {
  const end = Date.now() + 30_000;
  for (;;) {
    const opened = await client.get(chatId);
    if (listAnswers(opened.chat).every(({ status }) => status !== "running")) return opened;
    if (Date.now() > end) throw new Error("an answer never came to its end");
    await sleep(10);
  }
}

export function listAnswers({ nodes }: Chat): AnswerVersion[] {
  return Object.values(nodes).flatMap((node) => (node.kind === "answer" ? node.versions : []));
}

/** Returns the text of all messages of an answer. */
export function getAnswerText(chat: Chat, nodeId: string): string {
  const node = findNode(chat, nodeId);
  if (node?.kind !== "answer") throw new Error(`${nodeId} is not an answer`);
  const { output = [] } = node.versions.find(({ version_id }) => version_id === node.version) ?? {};
  return output
    .flatMap((item) => (item.type === "message" ? item.block_list : []))
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("");
}

/** Returns the status, code and param with which a request fails. */
export async function catchErrorFields(
  pendingRequest: Promise<unknown>,
): Promise<[status: number, code: string, param: string | undefined]> {
  const { status, code, param } = await catchApiError(pendingRequest);
  return [status, code, param];
}

export async function catchApiError(pendingRequest: Promise<unknown>): Promise<ChatApiError> {
  try {
    await pendingRequest;
  } catch (error) {
    if (error instanceof ChatApiError) return error;
    throw error;
  }
  throw new Error("it was not rejected");
}

export class FeedReader extends TestStream<ChatFeedEvent | ChatChange> {
  /** The chats of all received changes, in order. */
  get changedChatIds(): string[] {
    return this.frames.flatMap(({ event }) => {
      if (event.type === "chat.changed") return [event.chat.chat_id];
      return event.type === "chat.removed" ? [event.chat_id] : [];
    });
  }
}
