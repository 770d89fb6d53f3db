import { bareType } from "../data-url.ts";
import type { TaskView } from "../state.ts";
import type {
  ApprovalsReply,
  BlobReply,
  ChangedReply,
  ChatChoices,
  ChatListReply,
  ChatReply,
  ChatSearchReply,
  ChatSinceReply,
  DecidedReply,
  DecisionBody,
  EditBody,
  EditsBody,
  EditsReply,
  ExtractBody,
  ImportReply,
  InputDelivery,
  InputReply,
  NewChatBody,
  NodeBody,
  RemovalsReply,
  SendBody,
  SentReply,
  StopBody,
  StoppedReply,
  TagsReply,
  UndoBody,
  VariablesReply,
} from "./api.ts";
import { ChatApiError, errorOf } from "../api-error.ts";

/** What is needed of `fetch`: the platform's own fits. */
export type FetchLike = (url: string, request: FetchRequest) => Promise<FetchReply>;

export interface FetchRequest {
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

export interface FetchReply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface ChatClientOptions {
  fetch: FetchLike;
  /** Where the gateway is, without a slash at the end; "" for a page of its own. */
  base: string;
  token?: string;
}

export interface ChatPage {
  limit?: number;
  /** `next_before` of the page before. */
  before?: string;
  tag?: string;
  /** Only those that are deleted. */
  deleted?: boolean;
}

export interface AskOptions {
  /** What is asked with the same key and the same body is done once, however often it comes. */
  idempotencyKey?: string;
}

export type ChatExportFormat = "markdown" | "html" | "json" | "openai" | "glued";

export interface ExportedFile {
  readonly text: string;
  readonly media_type: string;
  readonly filename: string;
}

/** `/api/chats…` as functions, and what a page needs of the tasks of answers. What the gateway refuses, and what it cannot be asked, is thrown as a ChatApiError. */
export class ChatClient {
  readonly #options: ChatClientOptions;

  constructor(options: ChatClientOptions) {
    this.#options = options;
  }

  list(page: ChatPage = {}): Promise<ChatListReply> {
    return this.#get(`/api/chats${queryOf({ ...page })}`);
  }

  search(q: string, options: Pick<ChatPage, "limit" | "tag"> = {}): Promise<ChatSearchReply> {
    return this.#get(`/api/chats${queryOf({ q, ...options })}`);
  }

  create(body: NewChatBody = {}, options?: AskOptions): Promise<ChatReply> {
    return this.#post("/api/chats", body, options);
  }

  open(chatId: string): Promise<ChatReply> {
    return this.#get(pathOf(chatId));
  }

  /** A reply with `from` is for `applyPatch` on the chat of that stamp; one without is the whole chat. */
  openSince(chatId: string, stamp: number): Promise<ChatSinceReply> {
    return this.#get(pathOf(chatId) + queryOf({ since: stamp }));
  }

  /** Until it is restored, or for good. */
  async remove(chatId: string, { forever = false } = {}): Promise<void> {
    const query = forever ? "?forever=true" : "";
    await this.#ask({ method: "DELETE", headers: {} }, pathOf(chatId) + query);
  }

  restore(chatId: string): Promise<ChatReply> {
    return this.#post(pathOf(chatId, "restore"), {});
  }

  edits(chatId: string, body: EditsBody): Promise<EditsReply> {
    return this.#post(pathOf(chatId, "edits"), body);
  }

  undo(chatId: string, body: UndoBody): Promise<ChangedReply> {
    return this.#post(pathOf(chatId, "undo"), body);
  }

  send(chatId: string, body: SendBody, options?: AskOptions): Promise<SentReply> {
    return this.#post(pathOf(chatId, "send"), body, options);
  }

  rerun(chatId: string, body: NodeBody, options?: AskOptions): Promise<SentReply> {
    return this.#post(pathOf(chatId, "rerun"), body, options);
  }

  /** A `task_id` is in the answer where a model was asked. */
  edit(chatId: string, body: EditBody, options?: AskOptions): Promise<SentReply | ChangedReply> {
    return this.#post(pathOf(chatId, "edit"), body, options);
  }

  continueAnswer(chatId: string, body: NodeBody, options?: AskOptions): Promise<SentReply> {
    return this.#post(pathOf(chatId, "continue"), body, options);
  }

  stop(chatId: string, body: StopBody = {}): Promise<StoppedReply> {
    return this.#post(pathOf(chatId, "stop"), body);
  }

  extract(chatId: string, body: ExtractBody, options?: AskOptions): Promise<ChatReply> {
    return this.#post(pathOf(chatId, "extract"), body, options);
  }

  async exportAs(chatId: string, format: ChatExportFormat): Promise<ExportedFile> {
    const path = `${pathOf(chatId, "export")}${queryOf({ format })}`;
    const { text, headers } = await this.#ask({ method: "GET", headers: {} }, path);
    return {
      text,
      media_type: bareType(headers.get("content-type") ?? ""),
      filename: fileNameIn(headers.get("content-disposition") ?? "") ?? chatId,
    };
  }

  /** All chats of a file, or none of them. */
  importFrom(file: unknown, options?: AskOptions): Promise<ImportReply> {
    return this.#post("/api/chats/import", file, options);
  }

  choices(): Promise<ChatChoices> {
    return this.#get("/api/chats/choices");
  }

  tags(): Promise<TagsReply> {
    return this.#get("/api/chats/tags");
  }

  removals(chatId: string): Promise<RemovalsReply> {
    return this.#get(pathOf(chatId, "removals"));
  }

  variables(chatId: string): Promise<VariablesReply> {
    return this.#get(pathOf(chatId, "variables"));
  }

  /** The answer is an attachment but for its kind. */
  putBlob(
    body: Uint8Array<ArrayBuffer>,
    { mediaType, filename }: { mediaType: string; filename?: string },
  ): Promise<BlobReply> {
    const headers = { "content-type": mediaType };
    return this.#json({ method: "POST", headers, body }, `/api/blobs${queryOf({ filename })}`);
  }

  /** The task of an answer, as it is now. */
  task(taskId: string): Promise<TaskView> {
    return this.#get(taskPath(taskId));
  }

  /** What a person says while an answer runs: told to the model next (`steer`), or when it would end (`queue`). */
  steer(
    taskId: string,
    text: string,
    delivery: InputDelivery = "steer",
    options?: AskOptions,
  ): Promise<InputReply> {
    return this.#post(taskPath(taskId, "input"), { input: text, delivery }, options);
  }

  cancelTask(taskId: string, body: { reason?: string } = {}): Promise<TaskView> {
    return this.#post(taskPath(taskId, "cancel"), body);
  }

  /** What people are asked, in all chats and by all tasks; the oldest first. */
  approvals(): Promise<ApprovalsReply> {
    return this.#get("/api/approvals");
  }

  /** Of somebody who was too late the error has the code `approval_resolved`. */
  decide(approvalId: string, body: DecisionBody, options?: AskOptions): Promise<DecidedReply> {
    return this.#post(`/api/approvals/${encodeURIComponent(approvalId)}`, body, options);
  }

  #get<Reply>(path: string): Promise<Reply> {
    return this.#json({ method: "GET", headers: {} }, path);
  }

  #post<Reply>(path: string, body: unknown, options: AskOptions = {}): Promise<Reply> {
    const { idempotencyKey } = options;
    const headers = {
      "content-type": "application/json",
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    };
    return this.#json({ method: "POST", headers, body: JSON.stringify(body) }, path);
  }

  async #json<Reply>(request: FetchRequest, path: string): Promise<Reply> {
    const { text, status } = await this.#ask(request, path);
    try {
      return JSON.parse(text) as Reply;
    } catch {
      throw new ChatApiError("the answer is no JSON: is this a gateway?", {
        status,
        code: "unreadable",
      });
    }
  }

  async #ask(request: FetchRequest, path: string) {
    const { fetch, base, token } = this.#options;
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    let reply: FetchReply;
    let text: string;
    try {
      reply = await fetch(base + path, {
        ...request,
        headers: { ...request.headers, ...authorization },
      });
      text = await reply.text();
    } catch (cause) {
      throw new ChatApiError("the gateway cannot be reached", {
        status: 0,
        code: "unreachable",
        cause,
      });
    }
    const { status, headers } = reply;
    if (status < 200 || status > 299) throw errorOf(status, text);
    return { status, headers, text };
  }
}

export function createChatClient(options: ChatClientOptions): ChatClient {
  return new ChatClient(options);
}

function pathOf(chatId: string, rest?: string): string {
  return addressOf("/api/chats", chatId, rest);
}

function taskPath(taskId: string, rest?: string): string {
  return addressOf("/api/tasks", taskId, rest);
}

function addressOf(collection: string, id: string, rest: string | undefined): string {
  return `${collection}/${encodeURIComponent(id)}${rest === undefined ? "" : `/${rest}`}`;
}

function queryOf(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? "" : `?${given.join("&")}`;
}

function fileNameIn(disposition: string): string | undefined {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  return encoded === undefined ? undefined : decodeURIComponent(encoded);
}
