import type { ChatClient, ChatSettings, EditsBody, UserEdit } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { toTaskError } from "../src/tasks/task-errors.ts";
import { formatContentDisposition, toFileName } from "../src/chats/export-file.ts";
import { matchRoute } from "../src/http/routes.ts";
import {
  answeredChat,
  chatGatewayFixture,
  catchErrorFields,
  waitUntilSettled,
} from "./chat-fixture.ts";
import { ChatError } from "@deltawire/agent";

describe("the handler of a chat route", () => {
  test.each([
    ["GET", "/api/chats/events", "chat events", ""],
    ["GET", "/api/chats/choices", "chat choices", ""],
    ["POST", "/api/chats/import", "import chats", ""],
    ["GET", "/api/chats/chat_1", "open chat", "chat_1"],
    ["DELETE", "/api/chats/a%2Fb", "delete chat", "a/b"],
    ["POST", "/api/chats/chat_1/continue", "continue answer", "chat_1"],
    ["GET", "/api/chats/chat_1/export", "export chat", "chat_1"],
    ["POST", "/api/blobs", "upload blob", ""],
  ])("for %s %s is %j", (method, path, name, pathParam) => {
    expect(matchRoute(method, path)).toMatchObject({ type: "route", name, pathParam });
  });

  test("is not found for a wrong method, but the allowed methods are", () => {
    expect(matchRoute("PUT", "/api/chats/events")).toEqual({
      type: "wrong_method",
      allowed: ["GET", "DELETE"],
    });
  });
});

describe("an invalid body is rejected with the path of the error", () => {
  const bodies: [path: string, body: unknown, param: string | null][] = [
    ["", { titel: "x" }, "titel"],
    ["", { title: " " }, "title"],
    ["", { title: "x".repeat(301) }, "title"],
    ["", { tags: ["a", "a"] }, "tags[1]"],
    ["", { settings: { limits: { rounds: 0 } } }, "settings.limits.rounds"],
    ["", { settings: { modell: "x" } }, "settings.modell"],
    ["", { settings: { agent: "a", model: "b" } }, "settings.agent"],
    ["/CHAT/edits", { edits: [] }, "revision"],
    ["/CHAT/edits", { revision: 1.5, edits: [] }, "revision"],
    ["/CHAT/edits", { revision: 0, edits: [] }, "edits"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "explode" }] }, "edits[0].type"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "add_message" }] }, "edits[0].type"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "finish_answer" }] }, "edits[0].type"],
    ["/CHAT/edits", { revision: 0, edits: [{ type: "rename" }] }, "edits[0].title"],
    [
      "/CHAT/edits",
      { revision: 0, edits: [{ type: "pin_chat", value: true, more: 1 }] },
      "edits[0].more",
    ],
    [
      "/CHAT/edits",
      { revision: 0, edits: [{ type: "settings", patch: { turns: -1 } }] },
      "edits[0].patch.turns",
    ],
    ["/CHAT/send", {}, "text"],
    ["/CHAT/send", { text: " " }, "text"],
    ["/CHAT/send", { text: "x", parent: 7 }, "parent"],
    ["/CHAT/send", { text: "x", options: [] }, "options"],
    ["/CHAT/send", { text: "x", agent: "a", model: "b" }, "model"],
    ["/CHAT/send", { text: "x", task_id: "task_1" }, "task_id"],
    [
      "/CHAT/send",
      { text: "x", attachments: [{ kind: "video", url: "x" }] },
      "attachments[0].kind",
    ],
    [
      "/CHAT/send",
      { text: "x", contexts: [{ kind: "page", title: "a", text: "b", html: "" }] },
      "contexts[0].html",
    ],
    ["/CHAT/rerun", {}, "node_id"],
    ["/CHAT/rerun", { node_id: "n", text: "x" }, "text"],
    ["/CHAT/continue", { node_id: "n", options: "x" }, "options"],
    ["/CHAT/edit-message", { node_id: "n", text: "x", as: "copy" }, "as"],
    ["/CHAT/edit-message", { node_id: "n", text: "x", send: "no" }, "send"],
    ["/CHAT/undo", {}, "removal_id"],
    ["/CHAT/extract", { node_id: "" }, "node_id"],
    ["/CHAT/stop", { node: "n" }, "node"],
    ["/CHAT/stop", [], null],
  ];
  test("for every route", async () => {
    const { client, url } = await chatGatewayFixture();
    const { chat } = await client.create();
    for (const [path, body, param] of bodies) {
      const response = await fetch(`${url}/api/chats${path.replace("CHAT", chat.chat_id)}`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      const { error } = (await response.json()) as { error: { code: string; param: string } };
      expect([path, response.status, error.code, error.param]).toEqual([
        path,
        400,
        "invalid_request",
        param,
      ]);
    }
    expect((await client.get(chat.chat_id)).chat).toEqual(chat);
    expect((await client.list()).data).toHaveLength(1);
  });
});

describe("rejected chat requests", () => {
  const edit = async (client: ChatClient, id: string, ...edits: UserEdit[]) => {
    const { revision } = (await client.get(id)).chat;
    return client.applyEdits(id, { revision, edits });
  };

  test("return 404 for unknown ids", async () => {
    const { client } = await chatGatewayFixture();
    const { id, question } = await answeredChat(client);
    const unknownId = "chat_nobody";
    const body: EditsBody = { revision: 0, edits: [{ type: "rename", title: "x" }] };
    for (const requests of [
      () => client.get(unknownId),
      () => client.remove(unknownId),
      () => client.restore(unknownId),
      () => client.applyEdits(unknownId, body),
      () => client.undo(unknownId, { removal_id: "r" }),
      () => client.send(unknownId, { text: "x" }),
      () => client.rerun(unknownId, { node_id: "n" }),
      () => client.editMessage(unknownId, { node_id: "n", text: "x" }),
      () => client.continueAnswer(unknownId, { node_id: "n" }),
      () => client.stop(unknownId),
      () => client.extract(unknownId, { node_id: "n" }),
      () => client.exportAs(unknownId, "markdown"),
    ])
      expect((await catchErrorFields(requests()))[0]).toBe(404);
    const nodes = [
      () => edit(client, id, { type: "choose_branch", node_id: "n" }),
      () => client.send(id, { text: "x", parent: "n" }),
      () => client.rerun(id, { node_id: "n" }),
      () => client.stop(id, { node_id: "n" }),
      () => client.extract(id, { node_id: "n" }),
    ];
    for (const requests of nodes)
      expect(await catchErrorFields(requests())).toEqual([404, "node_not_found", undefined]);
    expect(
      await catchErrorFields(
        edit(client, id, { type: "choose_version", node_id: question, version_id: "v" }),
      ),
    ).toEqual([404, "version_not_found", undefined]);
    expect(await catchErrorFields(client.undo(id, { removal_id: "r" }))).toEqual([
      404,
      "removal_not_found",
      undefined,
    ]);
    expect(await catchErrorFields(client.send(id, { text: "x", model: "nobody/none" }))).toEqual([
      404,
      "model_not_found",
      "model",
    ]);
  });

  test("return 409 and change nothing if the state of the chat does not allow them", async () => {
    const { client } = await chatGatewayFixture();
    const { id, question, answer } = await answeredChat(client);
    const [first] = Object.values((await client.get(id)).chat.nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions : [],
    );
    const only = { type: "delete_version", node_id: answer, version_id: first?.version_id ?? "" };
    const getErrorCode = (requests: Promise<unknown>) =>
      catchErrorFields(requests).then(([, code]) => code);
    expect(await catchErrorFields(edit(client, id, only as UserEdit))).toEqual([
      409,
      "only_version",
      undefined,
    ]);
    expect(await getErrorCode(client.continueAnswer(id, { node_id: question }))).toBe(
      "invalid_position",
    );
    await client.continueAnswer(id, { node_id: answer, model: "demo/clean" });
    const deletion: UserEdit = { type: "delete_node", node_id: answer, children: "delete" };
    expect(await getErrorCode(edit(client, id, deletion))).toBe("still_running");
    await client.stop(id);
    await waitUntilSettled(client, id);
    expect(await getErrorCode(edit(client, id, only as UserEdit))).toBe("version_in_use");
    const { removal_ids: [removal_id = ""] = [] } = await edit(client, id, deletion);
    await edit(client, id, { type: "delete_node", node_id: question, children: "delete" });
    expect(await getErrorCode(client.undo(id, { removal_id }))).toBe("cannot_restore");
    expect((await client.get(id)).chat.nodes).toEqual({});
  });

  test("apply either all edits or none", async () => {
    const { client } = await chatGatewayFixture();
    const { id, settled } = await answeredChat(client);
    expect(
      await catchErrorFields(
        edit(client, id, { type: "rename", title: "New" }, { type: "choose_branch", node_id: "n" }),
      ),
    ).toEqual([404, "node_not_found", "edits[1]"]);
    expect((await client.get(id)).chat).toEqual(settled.chat);
  });

  test("return 400 with the name of the invalid field", async () => {
    const { client } = await chatGatewayFixture();
    const zone = { settings: { time_zone: "Mars/Base" } };
    expect(await catchErrorFields(client.create(zone))).toEqual([
      400,
      "invalid_value",
      "settings.time_zone",
    ]);
    const fields = [{ kind: "pattern", pattern: "(a)\\1" } as const];
    const [status, code, param] = await catchErrorFields(
      client.create({ settings: { privacy: { enabled: true, fields } } }),
    );
    expect([status, code]).toEqual([400, "invalid_value"]);
    expect(param).toContain("settings.privacy.fields[0]");
    const { chat } = await client.create();
    const cases: [ChatSettings, string][] = [
      [{ time_zone: "Mars/Base" }, "time_zone"],
      [{ options: { stream: false } }, "options.stream"],
      [{ model: "nobody/none" }, "model"],
      [{ tool_groups: ["time", "shell"] }, "tool_groups[1]"],
    ];
    for (const [settings, at] of cases) {
      const bad = [400, "invalid_value"];
      expect(await catchErrorFields(client.create({ settings }))).toEqual([
        ...bad,
        `settings.${at}`,
      ]);
      const patched = edit(client, chat.chat_id, { type: "settings", patch: settings });
      expect(await catchErrorFields(patched)).toEqual([...bad, `edits[0].patch.${at}`]);
    }
    expect(
      await catchErrorFields(client.send(chat.chat_id, { text: "x", options: { stream: true } })),
    ).toEqual([400, "invalid_value", "options.stream"]);
    expect(
      await catchErrorFields(client.send(chat.chat_id, { text: "x", agent: "nobody" })),
    ).toEqual([400, "cannot_send", "agent"]);
    for (const file of [{ chats: 7 }, [{ role: "wizard", content: "x" }], "words"])
      expect((await catchErrorFields(client.importFile(file))).slice(0, 2)).toEqual([
        400,
        "invalid_import",
      ]);
    expect(await catchErrorFields(client.exportAs(chat.chat_id, "docx" as "html"))).toEqual([
      400,
      "invalid_request",
      "format",
    ]);
    expect((await client.list()).data).toHaveLength(1);
  });

  test("return the current revision after a conflict", () => {
    const current = { chat: { revision: 7 }, stamp: 9 } as never;
    expect(toTaskError(new ChatError("conflict", "late", { current }))).toMatchObject({
      code: "conflict",
      extraFields: { revision: 7, stamp: 9 },
    });
    expect(toTaskError(new ChatError("invalid_value", "title: must not be empty"))).toMatchObject({
      param: "title",
    });
  });
});

describe("an Idempotency-Key for sending a message", () => {
  const idempotencyKey = "k1";

  test("sends it once, and repeated requests return the complete result, even while the first request runs", async () => {
    const { client, replies } = await chatGatewayFixture();
    const { chat } = await client.create();
    const id = chat.chat_id;
    const requests = [1, 2, 3].map(() => client.send(id, { text: "Hello" }, { idempotencyKey }));
    const sent = await Promise.all(requests);
    expect(new Set(sent.map(({ task_id }) => task_id)).size).toBe(1);
    expect(sent.map(({ nodes }) => Object.keys(nodes).length)).toEqual([2, 2, 2]);
    const replayed = replies.filter(
      ({ reply }) => reply.headers.get("idempotent-replayed") === "true",
    );
    expect(replayed).toHaveLength(2);
    const { chat: settledChat } = await waitUntilSettled(client, id);
    expect(Object.keys(settledChat.nodes)).toHaveLength(2);
    const later = await client.send(id, { text: "Hello" }, { idempotencyKey });
    expect(later).toMatchObject({ task_id: sent[0]?.task_id, node_id: sent[0]?.node_id });
    expect((await client.get(id)).chat).toEqual(settledChat);
  });

  test("is rejected with another body, in another chat, and for requests that start no task", async () => {
    const { client } = await chatGatewayFixture();
    const { id, question, answer } = await answeredChat(client);
    const { chat: other } = await client.create();
    await client.rerun(id, { node_id: answer }, { idempotencyKey });
    const secondAnswer = await client.rerun(id, { node_id: answer }, { idempotencyKey });
    expect(secondAnswer.node_id).toBe(answer);
    const conflict = [409, "idempotency_conflict", "Idempotency-Key"];
    for (const requests of [
      () => client.rerun(id, { node_id: question }, { idempotencyKey }),
      () => client.rerun(other.chat_id, { node_id: answer }, { idempotencyKey }),
      () => client.continueAnswer(id, { node_id: answer }, { idempotencyKey }),
    ])
      expect(await catchErrorFields(requests())).toEqual(conflict);
    await waitUntilSettled(client, id);
    for (const body of [
      { node_id: question, text: "x", send: false },
      { node_id: answer, text: "x" },
    ])
      expect(
        await catchErrorFields(client.editMessage(id, body, { idempotencyKey: "k2" })),
      ).toEqual([400, "invalid_header", "Idempotency-Key"]);
    const edited = { node_id: question, text: "Another" };
    const one = await client.editMessage(id, edited, { idempotencyKey: "k3" });
    const two = await client.editMessage(id, edited, { idempotencyKey: "k3" });
    expect(two).toMatchObject({ task_id: (one as { task_id?: string }).task_id });
    await client.stop(id);
  });
});

describe("the name of an exported file", () => {
  test.each([
    ["Plans for 2026", "Plans for 2026.md"],
    ["../../etc/passwd", "etc passwd.md"],
    ["a\u0000b\u202ec", "a b c.md"],
    ["  ...  ", "chat.md"],
    ["", "chat.md"],
    ["CON", "chat.md"],
    ["nul.txt", "chat.md"],
    ["x".repeat(300), `${"x".repeat(80)}.md`],
    ["a. ", "a.md"],
  ])("of a chat titled %j is %j", (title, name) => {
    expect(toFileName(title, "md")).toBe(name);
  });

  test("cannot inject header fields", () => {
    expect(formatContentDisposition('a"; x="\\%41é.md')).toBe(
      `attachment; filename="a_; x=___41_.md"; filename*=UTF-8''a%22%3B%20x%3D%22%5C%2541%C3%A9.md`,
    );
  });
});
