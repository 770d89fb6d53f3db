import { randomBytes } from "node:crypto";
import { openStore } from "@deltawire/store";
import type { TaskView } from "@deltawire/tasks";
import type { ApprovalsReply, ChatReply, EditsReply, SendReply } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { ownedPathParams } from "../src/http/route-owners.ts";
import { routes, type RouteName } from "../src/http/routes.ts";
import {
  createClientIn,
  createKeyClient,
  keyGatewayFixture,
  type KeyClient,
} from "./access-key-fixture.ts";
import { sleep, testGateway, waitUntil } from "./gateway-fixture.ts";
import { TestStream } from "./task-server-fixture.ts";

// Tasks run, and a database is started.
vi.setConfig({ testTimeout: 120_000 });

const demoModel = "demo/clean";

/** Everything that one key has created. */
interface Belongings {
  readonly client: KeyClient;
  /** Ended, waiting for an approval, that of a sub-agent, and that of an answer. */
  readonly tasks: readonly string[];
  readonly approvals: readonly string[];
  /** With an answer, waiting for an approval, and deleted. */
  readonly chats: readonly string[];
  readonly nodes: readonly string[];
  readonly removal: string;
  readonly blobs: readonly string[];
  readonly blobText: string;
  /** The sessions of the ended and of the waiting task. */
  readonly session: string;
  readonly waitingSession: string;
  readonly tag: string;
  readonly word: string;
  /** Of an agent. */
  readonly response: string;
  /** Of a model. */
  readonly modelResponse: string;
  readonly conversation: string;
  readonly conversationItem: string;
  readonly file: string;
}

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Bodies of requests with an owned id in their path. */
const bodies: Partial<Record<RouteName, (theirs: Belongings) => readonly unknown[]>> = {
  "cancel task": () => [{ reason: "not yours" }],
  "task input": () => [{ input: "Stop", delivery: "steer" }],
  "decide approval": () => ["approve", "deny", "abort"].map((decision) => ({ decision })),
  "edit chat": () => [
    { revision: 0, edits: [{ type: "rename", title: "stolen" }] },
    { revision: 0, edits: [{ type: "tag", tags: ["stolen"] }] },
  ],
  "undo deletion": ({ removal }) => [{ removal_id: removal }],
  "send message": () => [{ text: "Hello" }],
  "rerun answer": ({ nodes }) => [{ node_id: nodes[1] }],
  "edit message": ({ nodes }) => [{ node_id: nodes[0], text: "x", as: "version", send: false }],
  "continue answer": ({ nodes }) => [{ node_id: nodes[1] }],
  "stop answers": () => [{}],
  "extract chat": ({ nodes }) => [{ node_id: nodes[0] }],
};

/** Further forms of requests with an owned id in their path. */
const queries: Partial<Record<RouteName, readonly string[]>> = {
  task: ["", "?include=task,content"],
  "task events": ["", "?after=-1", "?after=0&replay=all"],
  "open chat": ["", "?since=0"],
  "delete chat": ["", "?forever=true"],
  "export chat": ["", "?format=json", "?format=html"],
};

/** Shows that a route without an owned id in its path neither returns nor changes what belongs to the other key. */
type Check = (mine: Belongings, theirs: Belongings, url: string) => Promise<void>;

const ownsNothing: Check = () => Promise.resolve();

const checks: Record<UncoveredRoute, Check> = {
  // Models answer with nothing that is stored; what `previous_response_id` finds belongs to the owner.
  async responses({ client }, theirs) {
    const body = { model: "demo-agent", input: "And?", previous_response_id: theirs.response };
    const found = await client.request("POST", "/v1/responses", body);
    const unknown = await client.request("POST", "/v1/responses", {
      ...body,
      previous_response_id: unknownLike(theirs.response),
    });
    expect([found.status, withoutId(found.body, theirs.response)]).toEqual([
      unknown.status,
      withoutId(unknown.body, unknownLike(theirs.response)),
    ]);
    expect(found.status).toBe(400);
    expect(JSON.stringify(found.body)).toContain("not found");
  },
  "compact response": expectUnknown("POST", "/v1/responses/compact", ({ modelResponse }) => ({
    model: demoModel,
    previous_response_id: modelResponse,
  })),
  "input tokens": expectUnknown("POST", "/v1/responses/input_tokens", ({ conversation }) => ({
    model: demoModel,
    input: "And?",
    conversation,
  })),
  response: expectUnknown("GET", "/v1/responses/{modelResponse}"),
  "delete response": expectUnknown("DELETE", "/v1/responses/{modelResponse}"),
  "cancel response": expectUnknown("POST", "/v1/responses/{modelResponse}/cancel"),
  "input items": expectUnknown("GET", "/v1/responses/{modelResponse}/input_items"),
  "create conversation": ownsNothing,
  conversation: expectUnknown("GET", "/v1/conversations/{conversation}"),
  "update conversation": expectUnknown("POST", "/v1/conversations/{conversation}", () => ({
    metadata: { stolen: "yes" },
  })),
  "delete conversation": expectUnknown("DELETE", "/v1/conversations/{conversation}"),
  "conversation items": expectUnknown("GET", "/v1/conversations/{conversation}/items"),
  "add conversation items": expectUnknown("POST", "/v1/conversations/{conversation}/items", () => ({
    items: [{ type: "message", role: "user", content: "stolen" }],
  })),
  "conversation item": expectUnknown(
    "GET",
    "/v1/conversations/{conversation}/items/{conversationItem}",
  ),
  "delete conversation item": expectUnknown(
    "DELETE",
    "/v1/conversations/{conversation}/items/{conversationItem}",
  ),
  "upload file": ownsNothing,
  async files({ client, file }, theirs) {
    const listed = await client.request("GET", "/v1/files?limit=100");
    expectNone(listed, [theirs.file, theirs.word]);
    expect(JSON.stringify(listed.body)).toContain(file);
  },
  file: expectUnknown("GET", "/v1/files/{file}"),
  "delete file": expectUnknown("DELETE", "/v1/files/{file}"),
  "file content": expectUnknown("GET", "/v1/files/{file}/content"),
  chat: ownsNothing,
  messages: ownsNothing,
  "count tokens": ownsNothing,
  models: ownsNothing,
  model: ownsNothing,
  embeddings: ownsNothing,
  "image generations": ownsNothing,
  "image edits": ownsNothing,
  transcriptions: ownsNothing,
  translations: ownsNothing,
  speech: ownsNothing,
  async "start task"({ client }, theirs) {
    // The Idempotency-Key of the other key's request is not known: another task is started.
    const { body, headers } = firstTask(theirs);
    const started = await client.request("POST", "/api/tasks", body, headers);
    expect(started.status).toBe(201);
    expect(theirs.tasks).not.toContain((started.body as TaskView).task_id);
  },
  async tasks({ client, tasks: [own = ""] }, theirs) {
    for (const query of [
      "?limit=100",
      `?session_id=${theirs.session}`,
      `?session_id=${theirs.waitingSession}`,
      "?status=input_required",
    ])
      expectNone(await client.request("GET", `/api/tasks${query}`), theirs.tasks);
    expect(JSON.stringify((await client.request("GET", "/api/tasks?limit=100")).body)).toContain(
      own,
    );
    const before = `/api/tasks?before=${theirs.tasks[0]}`;
    expect((await client.request("GET", before)).body).toMatchObject({ data: [] });
  },
  async approvals({ client, approvals: [own = ""] }, theirs) {
    const listed = await client.request("GET", "/api/approvals");
    expectNone(listed, [...theirs.approvals, ...theirs.tasks, ...theirs.chats]);
    expect(JSON.stringify(listed.body)).toContain(own);
  },
  async events({ client, tasks: [own = ""] }, theirs, url) {
    for (const taskId of theirs.tasks)
      expect((await client.request("GET", `/api/events?task=${taskId}:-1`)).status).toBe(404);
    const query = theirs.tasks.map((id) => `&task=${id}:-1`).join("");
    const lastEventId = `chats:0,${theirs.tasks.map((id) => `${id}:0`).join(",")}`;
    for (const headers of [{}, { "last-event-id": lastEventId }]) {
      const stream = new TestStream(`${url}/api/events?chats=0&task=${own}:-1${query}`, {
        headers: { authorization: `Bearer ${client.key}`, ...headers },
      });
      await stream.waitUntil("its own task and chats", ({ types }) =>
        ["task.completed", "chat.changed"].every((type) => types.includes(type)),
      );
      const rejected = stream.frames.filter(({ event }) =>
        JSON.stringify(event).includes("task_not_found"),
      );
      expect(rejected).toHaveLength(theirs.tasks.length);
      const others = stream.frames.filter((frame) => !rejected.includes(frame));
      expectNone({ body: others.map(({ event }) => event) }, [...theirs.tasks, ...theirs.chats]);
      stream.disconnect();
    }
  },
  async "ui messages"({ client, tasks: [, ownTask = ""] }, theirs) {
    const [approval = ""] = theirs.approvals;
    const [, taskId = ""] = theirs.tasks;
    const continueTask = (task: string) =>
      client.request(
        "POST",
        "/api/ui-messages?agent=demo-agent",
        buildUiContinuation(task, approval),
      );
    const found = await continueTask(taskId);
    const unknown = await continueTask(unknownLike(taskId));
    expect([found.status, withoutId(found.body, taskId)]).toEqual([
      404,
      withoutId(unknown.body, unknownLike(taskId)),
    ]);
    // The approval of the other key, in a task of its own.
    expect((await continueTask(ownTask)).status).toBe(404);
  },
  async "resume ui messages"({ client }, { waitingSession: session }) {
    const path = (id: string) => `/api/ui-messages/${id}/stream?replay=all`;
    const found = await client.request("GET", path(session));
    const unknown = await client.request("GET", path(unknownLike(session)));
    expect([found.status, found.body]).toEqual([unknown.status, unknown.body]);
    expect(found.status).toBe(204);
  },
  async chats({ client, chats: [own = ""] }, theirs) {
    for (const query of ["?limit=100", "?deleted=true", `?tag=${theirs.tag}`, `?q=${theirs.word}`])
      expectNone(await client.request("GET", `/api/chats${query}`), theirs.chats);
    expect(JSON.stringify((await client.request("GET", "/api/chats?limit=100")).body)).toContain(
      own,
    );
    const [theirChat = ""] = theirs.chats;
    const before = (id: string) => client.request("GET", `/api/chats?before=${id}`);
    const [found, unknown] = [await before(theirChat), await before(unknownLike(theirChat))];
    expect([found.status, withoutId(found.body, theirChat)]).toEqual([
      unknown.status,
      withoutId(unknown.body, unknownLike(theirChat)),
    ]);
  },
  async "create chat"({ client }, theirs) {
    const { body, headers } = deletedChat(theirs);
    const created = await client.request("POST", "/api/chats", body, headers);
    expect(created.status).toBe(201);
    expectNone(created, theirs.chats);
  },
  async "chat events"({ client }, theirs, url) {
    const stream = new TestStream(`${url}/api/chats/events?after=0`, {
      headers: { authorization: `Bearer ${client.key}` },
    });
    await stream.waitUntil("its own chats", ({ types }) => types.includes("chat.changed"));
    await theirs.client.request("POST", "/api/chats", { title: "new" });
    await client.request("POST", "/api/chats", { title: "the last" });
    await stream.waitUntil("its own change", ({ frames }) =>
      JSON.stringify(frames).includes("the last"),
    );
    expectNone({ body: stream.frames.map(({ event }) => event) }, [...theirs.chats, theirs.tag]);
    stream.disconnect();
  },
  "chat choices": ownsNothing,
  async "chat tags"({ client, tag }, theirs) {
    const listed = await client.request("GET", "/api/chats/tags");
    expectNone(listed, [theirs.tag]);
    expect(JSON.stringify(listed.body)).toContain(tag);
  },
  async "import chats"({ client }, theirs) {
    // A file may name the blob of another owner: neither the chat nor its export contains the bytes.
    const [blob = ""] = theirs.blobs;
    const attachment = { kind: "file", url: `/api/blobs/${blob}`, filename: "a.txt" };
    const exported = await theirs.client.request(
      "GET",
      `/api/chats/${theirs.chats[0]}/export?format=json`,
    );
    expect(JSON.stringify(exported.body)).toContain(theirs.word);
    const file = JSON.parse(
      JSON.stringify(exported.body).replaceAll(
        '"attachments":[]',
        `"attachments":[${JSON.stringify(attachment)}]`,
      ),
    ) as unknown;
    const imported = await client.request("POST", "/api/chats/import", file);
    const ids = [...JSON.stringify(imported.body).matchAll(/chat_[0-9a-z]+/g)].map(([id]) => id);
    expect(imported.status).toBe(201);
    expectNone(imported, theirs.chats);
    for (const id of ids)
      for (const format of ["json", "html"]) {
        const { body } = await client.request("GET", `/api/chats/${id}/export?format=${format}`);
        expectNone({ body }, [theirs.blobText, Buffer.from(theirs.blobText).toString("base64")]);
      }
    expect((await client.request("GET", `/api/blobs/${blob}`)).status).toBe(404);
    // The other checks look for the tags of the other key.
    for (const id of ids) await client.request("DELETE", `/api/chats/${id}?forever=true`);
  },
  async "upload blob"({ client, chats: [own = ""] }, theirs) {
    // The URL of another owner's blob cannot be attached.
    const send = (hash: string) =>
      client.request("POST", `/api/chats/${own}/send`, {
        text: "Read it",
        attachments: [{ kind: "file", url: `/api/blobs/${hash}` }],
      });
    const [blob = ""] = theirs.blobs;
    const [found, unknown] = [await send(blob), await send("0".repeat(64))];
    expect([found.status, found.body]).toEqual([unknown.status, unknown.body]);
    expect(found.status).toBe(400);
  },
  // The keys of this test have no scope for administration.
  upstreams: expectForbidden("GET", "/deltawire/upstreams"),
  connect: expectForbidden("GET", "/deltawire/connect"),
  lessons: expectForbidden("GET", "/deltawire/lessons"),
  "forget lessons": expectForbidden("DELETE", "/deltawire/lessons"),
  keys: expectForbidden("GET", "/deltawire/keys"),
  "create key": expectForbidden("POST", "/deltawire/keys"),
  "revoke key": expectForbidden("DELETE", "/deltawire/keys/ann"),
  health: ownsNothing,
  ready: ownsNothing,
  openapi: ownsNothing,
  session: ownsNothing,
  "sign in": ownsNothing,
  "sign out": ownsNothing,
  home: ownsNothing,
  "page asset": ownsNothing,
};

type OwnedParams = typeof ownedPathParams;
type UncoveredRoute = {
  [Name in RouteName]: Name extends keyof OwnedParams
    ? OwnedParams[Name] extends "none"
      ? Name
      : never
    : Name;
}[RouteName];

function expectForbidden(method: string, path: string): Check {
  return async ({ client }) => {
    expect((await client.request(method, path)).status).toBe(403);
  };
}

type StoredIds = Pick<Belongings, "modelResponse" | "conversation" | "conversationItem" | "file">;

/** The ids of the other key are rejected like ids that nothing has. */
function expectUnknown(
  method: string,
  path: string,
  buildBody?: (ids: StoredIds) => unknown,
): Check {
  return async ({ client }, theirs) => {
    const send = async (ids: StoredIds) => {
      const url = path.replace(/\{(\w+)\}/g, (_match, name: keyof StoredIds) => ids[name]);
      const { status, body } = await client.request(method, url, buildBody?.(ids));
      return { status, body: Object.values(ids).reduce(withoutId, body) };
    };
    const { modelResponse, conversation, conversationItem, file } = theirs;
    const found = await send({ modelResponse, conversation, conversationItem, file });
    const unknown = await send({
      modelResponse: unknownLike(modelResponse),
      conversation: unknownLike(conversation),
      conversationItem,
      file: unknownLike(file),
    });
    expect([method, path, found]).toEqual([method, path, unknown]);
    expect(found.status).toBeOneOf([400, 404]);
    expect(JSON.stringify(found.body)).toContain("not found");
  };
}

/** Returns every request of the route table that names something of the other key in its path. */
function listAttempts(theirs: Belongings): Attempt[] {
  const idsByKind = {
    task: theirs.tasks,
    approval: theirs.approvals,
    chat: theirs.chats,
    blob: theirs.blobs,
  };
  return routes.flatMap(({ name, method, path }) => {
    const kind = name in ownedPathParams ? ownedPathParams[name as keyof OwnedParams] : "none";
    if (kind === "none") return [];
    return idsByKind[kind].flatMap((id) =>
      (queries[name] ?? [""]).flatMap((query) =>
        (bodies[name]?.(theirs) ?? [undefined]).map((body) => ({
          method,
          path: path.replace(/\{\w+\}/, id) + query,
          body,
        })),
      ),
    );
  });
}

/** Returns an id of the same form that nothing has. */
function unknownLike(id: string): string {
  return id.replace(/[0-9a-f]{8}/, randomLike);
}

const randomHex = randomBytes(4).toString("hex");
const randomLike = (): string => randomHex;

function withoutId(body: unknown, id: string): unknown {
  return JSON.parse(JSON.stringify(body ?? null).replaceAll(id, "ID"));
}

function expectNone({ body }: { body: unknown }, texts: readonly string[]): void {
  const json = JSON.stringify(body);
  expect(texts.filter((text) => json.includes(text))).toEqual([]);
}

function buildUiContinuation(taskId: string, approvalId: string): object {
  return {
    id: "any",
    messages: [
      { id: "u1", role: "user", parts: [{ type: "text", text: "go" }] },
      {
        id: taskId,
        role: "assistant",
        metadata: { task_id: taskId, sequence_number: 0 },
        parts: [
          {
            type: "dynamic-tool",
            toolName: "send_message",
            toolCallId: "call_1",
            state: "approval-responded",
            input: {},
            approval: { id: approvalId, approved: true },
          },
        ],
      },
    ],
  };
}

/** The request that started a task of a key. */
const firstTask = ({ word, session }: Pick<Belongings, "word" | "session">) => ({
  body: { agent: "demo-agent", input: `Hello ${word}`, session_id: session },
  headers: { "idempotency-key": `task of ${word}` },
});

/** The request that created a chat of a key. */
const deletedChat = ({ word }: Pick<Belongings, "word">) => ({
  body: { title: "deleted" },
  headers: { "idempotency-key": `chat of ${word}` },
});

/** Creates one thing of every kind. */
async function createBelongings(client: KeyClient): Promise<Belongings> {
  const { name } = client;
  const post = async <ReplyBody>(
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<ReplyBody> => {
    const reply = await client.request("POST", path, body, headers);
    expect([path, reply.status, reply.body]).toEqual([
      path,
      expect.toBeOneOf([200, 201]),
      reply.body,
    ]);
    return reply.body as ReplyBody;
  };
  const startTask = async (body: object, headers?: Record<string, string>): Promise<string> =>
    (await post<{ task_id: string }>("/api/tasks", body, headers)).task_id;
  const createChat = async (body: object, headers?: Record<string, string>): Promise<string> =>
    (await post<ChatReply>("/api/chats", body, headers)).chat.chat_id;
  const sendMessage = async (chatId: string, text: string): Promise<string> =>
    (await post<SendReply>(`/api/chats/${chatId}/send`, { text })).task_id;
  const word = `secretword${name}`;
  const blobText = `the file of ${name}, ${word}`;
  const uploaded = await client.request("POST", "/api/blobs?filename=a.txt", blobText, {
    "content-type": "text/plain",
  });
  const blob = (uploaded.body as { url: string }).url.replace("/api/blobs/", "");
  const session = `session-${randomBytes(8).toString("hex")}`;
  const first = firstTask({ word, session });
  const endedTask = await startTask(first.body, first.headers);
  const message = 'please send_message to Bob: "hello"';
  const waitingSession = `waiting-${session}`;
  const waitingTask = await startTask({
    agent: "demo-agent",
    input: message,
    session_id: waitingSession,
  });
  const parentTask = await startTask({
    agent: "demo-agent",
    input: 'please ask_for_help to messenger: "please send_message to Bob: hello"',
  });
  const chatId = await createChat({
    title: `Chat of ${name}`,
    tags: [`tag-${name}`],
    settings: { agent: "demo-agent" },
  });
  const answerTask = await sendMessage(chatId, `Hello ${word}`);
  const waitForEnd = (id: string) =>
    waitUntil(`the end of ${id}`, async () => {
      const { body } = await client.request("GET", `/api/tasks/${id}`);
      const { status } = body as TaskView;
      if (status === "failed") throw new Error(`a task failed: ${JSON.stringify(body)}`);
      return status === "completed";
    });
  const openChat = async () =>
    ((await client.request("GET", `/api/chats/${chatId}`)).body as ChatReply).chat;
  const waitForAnswer = () =>
    waitUntil(
      "the end of an answer",
      async () => !JSON.stringify(await openChat()).includes('"status":"running"'),
    );
  await waitForEnd(endedTask);
  await waitForEnd(answerTask);
  await sendMessage(chatId, "Another");
  await waitForAnswer();
  const chat = await openChat();
  const nodes = Object.keys(chat.nodes);
  const { removal_ids: [removal] = [] } = await post<EditsReply>(`/api/chats/${chatId}/edits`, {
    revision: chat.revision,
    edits: [{ type: "delete_node", node_id: nodes.at(-1), children: "delete" }],
  });
  const waitingChatId = await createChat({ settings: { agent: "demo-agent" } });
  await sendMessage(waitingChatId, message);
  const deleted = deletedChat({ word });
  const deletedId = await createChat(deleted.body, deleted.headers);
  await client.request("DELETE", `/api/chats/${deletedId}`);
  const listApprovals = async () =>
    ((await client.request("GET", "/api/approvals")).body as ApprovalsReply).data;
  await waitUntil("the approvals", async () => (await listApprovals()).length >= 3);
  const approvals = await listApprovals();
  const subTask = approvals.find(({ approval, root_task_id }) => approval.task_id !== root_task_id);
  const response = await post<{ id: string }>("/v1/responses", {
    model: "demo-agent",
    input: "Hello",
  });
  const { id: conversation } = await post<{ id: string }>("/v1/conversations", {
    metadata: { word },
  });
  const { id: modelResponse } = await post<{ id: string }>("/v1/responses", {
    model: demoModel,
    input: `Hello ${word}`,
    conversation,
  });
  const items = await client.request("GET", `/v1/conversations/${conversation}/items`);
  return {
    client,
    tasks: [endedTask, waitingTask, parentTask, subTask?.approval.task_id ?? "", answerTask],
    approvals: approvals.map(({ approval }) => approval.approval_id),
    chats: [chatId, waitingChatId, deletedId],
    nodes,
    removal: removal ?? "",
    blobs: [blob],
    blobText,
    session,
    waitingSession,
    tag: `tag-${name}`,
    word,
    response: response.id,
    modelResponse,
    conversation,
    conversationItem: (items.body as { data: { id: string }[] }).data[0]?.id ?? "",
    file: await uploadFile(client, word),
  };
}

/** Returns the id of the file. */
async function uploadFile(client: KeyClient, word: string): Promise<string> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new File([`The word is ${word}.`], `${word}.txt`, { type: "text/plain" }));
  const { status, body } = await client.uploadForm("/v1/files", form);
  expect([status, body]).toEqual([200, body]);
  return (body as { id: string }).id;
}

interface TwoKeys {
  /** Gateways of the same store; the first one creates everything. */
  readonly urls: readonly string[];
  createClient: (name: string) => Promise<KeyClient>;
}

function describeTwoKeys(start: () => Promise<TwoKeys>): void {
  test("every attempt to use data of the other key fails as if its id were unknown", async () => {
    const { urls, createClient } = await start();
    const ann = await createBelongings(await createClient("ann"));
    const bob = await createBelongings(await createClient("bob"));
    for (const [mine, theirs] of [
      [ann, bob],
      [bob, ann],
    ] as const)
      for (const url of urls) {
        const client = createKeyClient(url, mine.client.key);
        const attempts = listAttempts(theirs);
        expect(attempts.length).toBeGreaterThanOrEqual(60);
        const readAll = async () =>
          Promise.all(
            theirs.chats.map(
              async (id) => (await theirs.client.request("GET", `/api/chats/${id}`)).body,
            ),
          );
        const before = await readAll();
        for (const { method, path, body } of attempts) {
          const reply = await client.request(method, path, body);
          expect([method, path, reply.status]).toEqual([method, path, 404]);
          const [id = ""] = /[a-z]*_?[0-9a-f]{24,}/.exec(path) ?? [];
          const unknown = await client.request(method, path.replace(id, unknownLike(id)), body);
          expect([unknown.status, withoutId(unknown.body, unknownLike(id))]).toEqual([
            404,
            withoutId(reply.body, id),
          ]);
        }
        expect(await readAll()).toEqual(before);
        for (const { name } of routes)
          if (name in checks)
            await checks[name as UncoveredRoute]({ ...mine, client }, theirs, url);
        const untested = routes.filter(
          ({ name }) => !(name in checks) && !attempts.some(({ path }) => isPathOf(name, path)),
        );
        expect(untested).toEqual([]);
      }
    // What each key owns still works.
    for (const belongings of [ann, bob]) {
      const { client, tasks, chats, blobs, blobText, approvals, word } = belongings;
      const { modelResponse, conversation, conversationItem, file } = belongings;
      for (const path of [
        `responses/${modelResponse}`,
        `conversations/${conversation}`,
        `conversations/${conversation}/items/${conversationItem}`,
        `files/${file}`,
      ])
        expect((await client.request("GET", `/v1/${path}`)).status).toBe(200);
      expect((await client.request("GET", `/v1/conversations/${conversation}`)).body).toMatchObject(
        {
          metadata: { word },
        },
      );
      expect((await client.request("GET", `/api/tasks/${tasks[0]}`)).status).toBe(200);
      expect((await client.request("GET", `/api/chats/${chats[0]}`)).status).toBe(200);
      expect((await client.request("GET", `/api/blobs/${blobs[0]}`)).body).toBe(blobText);
      const decided = await client.request("POST", `/api/approvals/${approvals[0]}`, {
        decision: "deny",
      });
      expect(decided.status).toBe(200);
    }
  });

  test("changes of approvals are only sent to the key's own chat streams, on every gateway", async () => {
    const { urls, createClient } = await start();
    const [carl, dora] = [await createClient("carl"), await createClient("dora")];
    const open = (client: KeyClient) => Promise.all(urls.map((url) => openChatEvents(url, client)));
    const [own, others] = [await open(carl), await open(dora)];
    const count = (streams: typeof own) => streams.map((entry) => entry.countApprovalEvents());
    // A gateway does not know what other gateways have changed before its first stream, so that all of its streams get an event.
    await sleep(700);
    const before = count(others);
    const waitForChange = async (change: () => Promise<unknown>): Promise<void> => {
      const seen = count(own);
      await change();
      for (const [index, { stream, countApprovalEvents }] of own.entries())
        await stream.waitUntil("the change", () => countApprovalEvents() > (seen[index] ?? 0));
    };
    await waitForChange(() =>
      carl.request("POST", "/api/tasks", {
        agent: "demo-agent",
        input: 'please send_message to Bob: "hello"',
      }),
    );
    const { data } = (await carl.request("GET", "/api/approvals")).body as ApprovalsReply;
    expect(data).toHaveLength(1);
    const path = `/api/approvals/${data[0]?.approval.approval_id}`;
    await waitForChange(() => carl.request("POST", path, { decision: "deny" }));
    await dora.request("POST", "/api/chats", { title: "the last" });
    for (const { stream } of others)
      await stream.waitUntil("its own change", ({ types }) => types.includes("chat.changed"));
    expect(count(others)).toEqual(before);
  });
}

/** A stream of chat changes, from its opening. */
async function openChatEvents(url: string, { key }: KeyClient) {
  const stream = new TestStream(`${url}/api/chats/events`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await stream.waitUntil("the opening", ({ types }) => types.length > 0);
  return { stream, countApprovalEvents: () => countOf(stream, "approvals.changed") };
}

const countOf = ({ types }: TestStream, name: string): number =>
  types.filter((type) => type === name).length;

function isPathOf(name: RouteName, path: string): boolean {
  const pattern = routes.find((route) => route.name === name)?.path ?? "";
  return new RegExp(`^${pattern.replace(/\{\w+\}/, "[^/]+")}(?:\\?|$)`).test(path);
}

describe("two keys with a SQLite store", () => {
  describeTwoKeys(async () => {
    const { gateway, createClient } = await keyGatewayFixture();
    return { urls: [gateway.url], createClient: (name) => createClient({ name }) };
  });
});

describe.skipIf(!canRunPostgres)("two keys with a PostgreSQL database and two gateways", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  describeTwoKeys(async () => {
    const toml =
      '[server]\nport = 0\ndemo = true\n[chats]\ntitles = false\n[store]\nurl = "env:DB"\n';
    const options = { env: { DB: server.url } };
    const gateways = [await testGateway(toml, options), await testGateway(toml, options)];
    const [url = "", ...others] = gateways.map((gateway) => gateway.url);
    return {
      urls: [url, ...others],
      async createClient(name) {
        const store = await openStore({ url: server.url, exclusive: false });
        const client = await createClientIn(store, url, { name });
        await store.close();
        return client;
      },
    };
  });
});
