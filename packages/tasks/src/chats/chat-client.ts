import { mediaTypeEssence } from "../data-url.ts";
import type { TaskView } from "../state.ts";
import type {
  ApprovalsReply,
  BlobReply,
  ChangeReply,
  ChatChoices,
  ChatListReply,
  ChatReply,
  ChatSearchReply,
  ChatUpdateReply,
  DecisionReply,
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
  SendReply,
  StopBody,
  StopReply,
  TagsReply,
  UndoBody,
  VariablesReply,
} from "./api-types.ts";
import { ChatApiError, parseApiError } from "../api-error.ts";

/** The part of `fetch` that the client uses. The global `fetch` is assignable. */
export type FetchLike = (url: string, request: FetchRequest) => Promise<FetchResponse>;

export interface FetchRequest {
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface ChatClientOptions {
  fetch: FetchLike;
  /** URL of the gateway without a trailing slash; "" on a page that the gateway serves. */
  baseUrl: string;
  token?: string;
}

export interface ListChatsQuery {
  limit?: number;
  /** `next_before` of the previous page. */
  before?: string;
  tag?: string;
  /** Lists only deleted chats. */
  deleted?: boolean;
}

export interface RequestOptions {
  /** Repeated requests with the same key and the same body take effect once. */
  idempotencyKey?: string;
}

export type ChatExportFormat = "markdown" | "html" | "json" | "openai" | "glued";

export interface ExportedFile {
  readonly text: string;
  readonly media_type: string;
  readonly filename: string;
}

/**
 * Client for `/api/chats…`, and for the tasks, approvals and blobs of chats. Throws `ChatApiError` if the gateway rejects a
 * request or cannot be reached.
 */
export class ChatClient {
  readonly #options: ChatClientOptions;

  constructor(options: ChatClientOptions) {
    this.#options = options;
  }

  list(page: ListChatsQuery = {}): Promise<ChatListReply> {
    return this.#get(`/api/chats${buildQuery({ ...page })}`);
  }

  search(q: string, options: Pick<ListChatsQuery, "limit" | "tag"> = {}): Promise<ChatSearchReply> {
    return this.#get(`/api/chats${buildQuery({ q, ...options })}`);
  }

  create(body: NewChatBody = {}, options?: RequestOptions): Promise<ChatReply> {
    return this.#post("/api/chats", body, options);
  }

  get(chatId: string): Promise<ChatReply> {
    return this.#get(buildChatPath(chatId));
  }

  /** A reply with `from` is a patch for `applyChatPatch` on the chat at that stamp. A reply without it is the complete chat. */
  getSince(chatId: string, stamp: number): Promise<ChatUpdateReply> {
    return this.#get(buildChatPath(chatId) + buildQuery({ since: stamp }));
  }

  /** Deletes the chat; it can be restored unless `forever` is set. */
  async remove(chatId: string, { forever = false } = {}): Promise<void> {
    const query = forever ? "?forever=true" : "";
    await this.#request({ method: "DELETE", headers: {} }, buildChatPath(chatId) + query);
  }

  restore(chatId: string): Promise<ChatReply> {
    return this.#post(buildChatPath(chatId, "restore"), {});
  }

  applyEdits(chatId: string, body: EditsBody): Promise<EditsReply> {
    return this.#post(buildChatPath(chatId, "edits"), body);
  }

  undo(chatId: string, body: UndoBody): Promise<ChangeReply> {
    return this.#post(buildChatPath(chatId, "undo"), body);
  }

  send(chatId: string, body: SendBody, options?: RequestOptions): Promise<SendReply> {
    return this.#post(buildChatPath(chatId, "send"), body, options);
  }

  rerun(chatId: string, body: NodeBody, options?: RequestOptions): Promise<SendReply> {
    return this.#post(buildChatPath(chatId, "rerun"), body, options);
  }

  /** The reply has a `task_id` if a new answer was started. */
  editMessage(
    chatId: string,
    body: EditBody,
    options?: RequestOptions,
  ): Promise<SendReply | ChangeReply> {
    return this.#post(buildChatPath(chatId, "edit-message"), body, options);
  }

  continueAnswer(chatId: string, body: NodeBody, options?: RequestOptions): Promise<SendReply> {
    return this.#post(buildChatPath(chatId, "continue"), body, options);
  }

  stop(chatId: string, body: StopBody = {}): Promise<StopReply> {
    return this.#post(buildChatPath(chatId, "stop"), body);
  }

  extract(chatId: string, body: ExtractBody, options?: RequestOptions): Promise<ChatReply> {
    return this.#post(buildChatPath(chatId, "extract"), body, options);
  }

  async exportAs(chatId: string, format: ChatExportFormat): Promise<ExportedFile> {
    const path = `${buildChatPath(chatId, "export")}${buildQuery({ format })}`;
    const { text, headers } = await this.#request({ method: "GET", headers: {} }, path);
    return {
      text,
      media_type: mediaTypeEssence(headers.get("content-type") ?? ""),
      filename: parseFilename(headers.get("content-disposition") ?? "") ?? chatId,
    };
  }

  /** Imports all chats of the file, or none. */
  importFile(file: unknown, options?: RequestOptions): Promise<ImportReply> {
    return this.#post("/api/chats/import", file, options);
  }

  choices(): Promise<ChatChoices> {
    return this.#get("/api/chats/choices");
  }

  tags(): Promise<TagsReply> {
    return this.#get("/api/chats/tags");
  }

  removals(chatId: string): Promise<RemovalsReply> {
    return this.#get(buildChatPath(chatId, "removals"));
  }

  variables(chatId: string): Promise<VariablesReply> {
    return this.#get(buildChatPath(chatId, "variables"));
  }

  /** The reply has all fields of an attachment except `kind`. */
  putBlob(
    body: Uint8Array<ArrayBuffer>,
    { mediaType, filename }: { mediaType: string; filename?: string },
  ): Promise<BlobReply> {
    const headers = { "content-type": mediaType };
    return this.#json({ method: "POST", headers, body }, `/api/blobs${buildQuery({ filename })}`);
  }

  /** Returns the current state of an answer's task. */
  task(taskId: string): Promise<TaskView> {
    return this.#get(buildTaskPath(taskId));
  }

  /** Sends user input to a running answer: with the next model request (`steer`), or when the task would end (`queue`). */
  steer(
    taskId: string,
    text: string,
    delivery: InputDelivery = "steer",
    options?: RequestOptions,
  ): Promise<InputReply> {
    return this.#post(buildTaskPath(taskId, "input"), { input: text, delivery }, options);
  }

  cancelTask(taskId: string, body: { reason?: string } = {}): Promise<TaskView> {
    return this.#post(buildTaskPath(taskId, "cancel"), body);
  }

  /** Returns the pending approvals of all chats and tasks, oldest first. */
  approvals(): Promise<ApprovalsReply> {
    return this.#get("/api/approvals");
  }

  /** Throws with the code `approval_resolved` if the approval is already resolved. */
  decide(approvalId: string, body: DecisionBody, options?: RequestOptions): Promise<DecisionReply> {
    return this.#post(`/api/approvals/${encodeURIComponent(approvalId)}`, body, options);
  }

  #get<Reply>(path: string): Promise<Reply> {
    return this.#json({ method: "GET", headers: {} }, path);
  }

  #post<Reply>(path: string, body: unknown, options: RequestOptions = {}): Promise<Reply> {
    const { idempotencyKey } = options;
    const headers = {
      "content-type": "application/json",
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    };
    return this.#json({ method: "POST", headers, body: JSON.stringify(body) }, path);
  }

  async #json<Reply>(request: FetchRequest, path: string): Promise<Reply> {
    const { text, status } = await this.#request(request, path);
    try {
      return JSON.parse(text) as Reply;
    } catch {
      throw new ChatApiError("the response is not valid JSON; is this the URL of a gateway?", {
        status,
        code: "unreadable",
      });
    }
  }

  async #request(request: FetchRequest, path: string) {
    const { fetch, baseUrl, token } = this.#options;
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    let response: FetchResponse;
    let text: string;
    try {
      response = await fetch(baseUrl + path, {
        ...request,
        headers: { ...request.headers, ...authorization },
      });
      text = await response.text();
    } catch (cause) {
      throw new ChatApiError("the gateway cannot be reached", {
        status: 0,
        code: "unreachable",
        cause,
      });
    }
    const { status, headers } = response;
    if (status < 200 || status > 299) throw parseApiError(status, text);
    return { status, headers, text };
  }
}

export function createChatClient(options: ChatClientOptions): ChatClient {
  return new ChatClient(options);
}

function buildChatPath(chatId: string, rest?: string): string {
  return buildResourcePath("/api/chats", chatId, rest);
}

function buildTaskPath(taskId: string, rest?: string): string {
  return buildResourcePath("/api/tasks", taskId, rest);
}

function buildResourcePath(collection: string, id: string, rest: string | undefined): string {
  return `${collection}/${encodeURIComponent(id)}${rest === undefined ? "" : `/${rest}`}`;
}

function buildQuery(
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function parseFilename(disposition: string): string | undefined {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  return encoded === undefined ? undefined : decodeURIComponent(encoded);
}
